//go:build !unix

package cli

func outliveReader() {}

func readerGone(error) bool { return false }
