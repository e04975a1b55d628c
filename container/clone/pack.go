package clone

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

var errPack = errors.New("it is not a pack of whole objects")

var errHuge = errors.New("its objects are too large")

// checkPack reads an untrusted pack before git does: it must consist of whole objects within a total size. By deltas
// and compression, a few bytes can stand for more than any memory holds.
func checkPack(pack io.Reader, limit int64) error {
	in := bufio.NewReaderSize(pack, 64<<10)
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || !bytes.HasPrefix(head[:], []byte("PACK\x00\x00\x00\x02")) {
		return errPack
	}
	s := &packReader{in: in, left: limit}
	for range binary.BigEndian.Uint32(head[8:]) {
		if err := s.object(); err != nil {
			return err
		}
	}
	rest, err := io.Copy(io.Discard, io.LimitReader(in, 65))
	if err != nil || rest != 20 && rest != 32 { // the checksum, which git verifies
		return errPack
	}
	return nil
}

type packReader struct {
	in   *bufio.Reader
	left int64
	zip  io.ReadCloser // nil before the first
}

// perObject is the minimum cost of an object.
const perObject = 64

func (s *packReader) object() error {
	size, err := s.header()
	if err != nil {
		return err
	}
	if s.left -= size + perObject; s.left < 0 {
		return errHuge
	}
	if s.zip == nil {
		s.zip, err = zlib.NewReader(s.in)
	} else {
		err = s.zip.(zlib.Resetter).Reset(s.in, nil)
	}
	if err != nil {
		return errPack
	}
	// One byte more than expected, to detect the end.
	if n, err := io.Copy(io.Discard, io.LimitReader(s.zip, size+1)); err != nil || n != size {
		return errPack
	}
	return nil
}

// header reads the type and size of an object. Types 1 to 4 are commit, tree, blob and tag; others are deltas.
func (s *packReader) header() (int64, error) {
	c, err := s.in.ReadByte()
	if kind := c >> 4 & 7; err != nil || kind < 1 || kind > 4 {
		return 0, errPack
	}
	size := int64(c & 15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, err = s.in.ReadByte(); err != nil || shift > 46 {
			return 0, errPack
		}
		size |= int64(c&0x7f) << shift
	}
	return size, nil
}
