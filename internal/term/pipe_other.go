//go:build !unix

package term

// OutliveReader does nothing here.
func OutliveReader() {}

func readerGone(error) bool { return false }
