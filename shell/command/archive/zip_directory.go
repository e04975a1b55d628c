package archive

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"

	"hako/quota"
	"hako/shell/vfs"
)

// openZip reads the directory of a zip file. It is charged to the limiter first: a
// small file can claim many entries.
func openZip(g *quota.Limiter, f *vfs.File) (*zip.Reader, error) {
	count, err := zipCount(f)
	if err != nil {
		return nil, err
	}
	if err := g.Fits(count * 600); err != nil {
		return nil, err
	}
	return zip.NewReader(f, f.Size())
}

// zipCount finds the number of entries: the one in the trailer, or as many as
// the file could hold if the trailer refers to the larger form.
func zipCount(f *vfs.File) (int64, error) {
	size := f.Size()
	tail := make([]byte, min(size, 22+65535))
	if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
		return 0, err
	}
	i := bytes.LastIndex(tail, []byte("PK\x05\x06"))
	if i < 0 || len(tail)-i < 22 {
		return 0, zip.ErrFormat
	}
	count := int64(binary.LittleEndian.Uint16(tail[i+10:]))
	if count == 0xffff {
		count = size / 46
	}
	return count, nil
}
