package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"hash"
	"hash/crc32"
	"hash/crc64"
	"io"
	"slices"

	"github.com/ulikunitz/xz/lzma"

	"hako/quota"
)

// xzReader reads the container of .xz files. The library has one too, but
// allocates whatever dictionary a header claims, up to 4 GB; here every block is charged
// to the limiter first.
type xzReader struct {
	limiter *quota.Limiter
	br      *bufio.Reader
	n       int64 // bytes taken since the stream began
	check   byte
	block   *lzma.Reader2
	sum     hash.Hash
	held    int64
	err     error
}

var (
	xzMagic  = []byte{0xfd, '7', 'z', 'X', 'Z', 0}
	crcTable = crc64.MakeTable(crc64.ECMA)
)

func newXzReader(g *quota.Limiter, r io.Reader) (*xzReader, error) {
	x := &xzReader{limiter: g, br: bufio.NewReaderSize(r, 64<<10)}
	head, err := x.br.Peek(6)
	if len(head) == 0 && err == io.EOF {
		return x, io.ErrUnexpectedEOF
	}
	if !bytes.Equal(head, xzMagic) {
		if err != nil && err != io.EOF {
			return x, err
		}
		return x, errPackFormat
	}
	return x, x.streamHeader()
}

func (x *xzReader) take(n int) ([]byte, error) {
	b := make([]byte, n)
	m, err := io.ReadFull(x.br, b)
	x.n += int64(m)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return b, err
}

func (x *xzReader) streamHeader() error {
	x.n = 0
	h, err := x.take(12)
	if err != nil {
		return err
	}
	x.check = h[7]
	if h[6] != 0 || crc32.ChecksumIEEE(h[6:8]) != binary.LittleEndian.Uint32(h[8:]) {
		return errPackCorrupt
	}
	switch x.check {
	case 0, 1, 4, 10:
		return nil
	}
	return errPackCorrupt
}

// newChecksum returns a fresh checksum of the stream's kind.
func (x *xzReader) newChecksum() hash.Hash {
	switch x.check {
	case 1:
		return crc32.NewIEEE()
	case 4:
		return crc64.New(crcTable)
	case 10:
		return sha256.New()
	}
	return nil
}

// Read implements io.Reader over all blocks of all streams.
func (x *xzReader) Read(p []byte) (n int, err error) {
	if x.err != nil {
		return 0, x.err
	}
	// A hostile file may make the library panic; that must not end the process.
	defer func() {
		if recover() != nil {
			n, err = 0, errPackCorrupt
		}
		if err != nil {
			x.err = err
			x.limiter.Hold(-x.held)
			x.held = 0
		}
	}()
	for n == 0 && err == nil {
		if x.block == nil {
			if err = x.next(); err != nil {
				return 0, err
			}
			continue
		}
		n, err = x.block.Read(p)
		if x.sum != nil {
			x.sum.Write(p[:n])
		}
		if err == io.EOF {
			err = x.endBlock()
		} else if err != nil && err != io.ErrUnexpectedEOF {
			err = errPackCorrupt
		}
	}
	return n, err
}

// next begins the next block or stream, or returns io.EOF after the last.
func (x *xzReader) next() error {
	size, err := x.take(1)
	if err != nil {
		return err
	}
	if size[0] == 0 {
		return x.endStream()
	}
	rest, err := x.take(int(size[0])*4 + 3)
	if err != nil {
		return err
	}
	header := append(size, rest...)
	body := header[:len(header)-4]
	if crc32.ChecksumIEEE(body) != binary.LittleEndian.Uint32(header[len(body):]) {
		return errPackCorrupt
	}
	dict, err := xzDictionary(body)
	if err != nil {
		return err
	}
	x.limiter.Hold(-x.held)
	x.held = 0
	if err := x.limiter.Hold(dict); err != nil {
		return err
	}
	x.held = dict
	x.block, err = lzma.Reader2Config{DictCap: int(dict)}.NewReader2(&xzCounter{x})
	x.sum = x.newChecksum()
	if err != nil {
		return errPackCorrupt
	}
	return nil
}

// xzCounter counts the bytes that the decoder reads, for the padding after a block.
type xzCounter struct{ x *xzReader }

func (c *xzCounter) Read(p []byte) (int, error) {
	n, err := c.x.br.Read(p)
	c.x.n += int64(n)
	return n, err
}

func (c *xzCounter) ReadByte() (byte, error) {
	b, err := c.x.br.ReadByte()
	if err == nil {
		c.x.n++
	}
	return b, err
}

// xzDictionary finds the size of the dictionary in a block header.
func xzDictionary(header []byte) (int64, error) {
	flags, rest := header[1], header[2:]
	if flags&0x3f != 0 { // more than one filter, or a reserved bit
		return 0, errPackCorrupt
	}
	for _, bit := range []byte{0x40, 0x80} {
		if flags&bit != 0 {
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return 0, errPackCorrupt
			}
			rest = rest[n:]
		}
	}
	if len(rest) < 3 || rest[0] != 0x21 || rest[1] != 1 || rest[2] > 40 {
		return 0, errPackCorrupt
	}
	bits := rest[2]
	if bits == 40 {
		return 1<<32 - 1, nil
	}
	return max(int64(2|bits&1)<<(bits/2+11), lzma.MinDictCap), nil
}

// endBlock skips the padding and compares the checksum.
func (x *xzReader) endBlock() error {
	x.block = nil
	if _, err := x.take(int(-x.n & 3)); err != nil {
		return err
	}
	if x.sum == nil {
		return nil
	}
	want, err := x.take(x.sum.Size())
	if err != nil {
		return err
	}
	got := x.sum.Sum(nil)
	if x.check != 10 { // the CRCs are stored with the low byte first
		slices.Reverse(got)
	}
	if !bytes.Equal(got, want) {
		return errPackCorrupt
	}
	return nil
}

// endStream skips the index and the footer; another stream may follow.
func (x *xzReader) endStream() error {
	records, err := binary.ReadUvarint(&xzCounter{x})
	if err != nil {
		return io.ErrUnexpectedEOF
	}
	for range records {
		for range 2 {
			if _, err := binary.ReadUvarint(&xzCounter{x}); err != nil {
				return io.ErrUnexpectedEOF
			}
		}
	}
	if _, err := x.take(int(-x.n&3) + 4 + 12); err != nil {
		return err
	}
	for {
		head, err := x.br.Peek(4)
		switch {
		case len(head) == 0 && err == io.EOF:
			return io.EOF
		case len(head) == 4 && bytes.Equal(head, make([]byte, 4)):
			x.br.Discard(4)
			continue
		case len(head) == 4 && bytes.Equal(head, xzMagic[:4]):
			return x.streamHeader()
		}
		return errPackGarbage
	}
}
