package data

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"fmt"
	"io"

	"hako/shell"
	"hako/shell/command/internal/posixcrc"
)

var Cksum = shell.Command{Name: "cksum", Run: runCksum}

func runCksum(ctx context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	kind, tag := "crc", true
	for _, o := range opts {
		switch o.Name {
		case "a":
			kind = o.Value
		case "tag":
			tag = true
		case "untagged":
			tag = false
		}
	}
	digests := map[string]digest{
		"md5": {label: "MD5", fresh: md5.New}, "sha1": {label: "SHA1", fresh: sha1.New},
		"sha224": {label: "SHA224", fresh: sha256.New224}, "sha256": {label: "SHA256", fresh: sha256.New},
		"sha384": {label: "SHA384", fresh: sha512.New384}, "sha512": {label: "SHA512", fresh: sha512.New},
		"blake2b": {label: "BLAKE2b", fresh: newBlake2b},
	}
	if d, ok := digests[kind]; ok {
		d.Call, d.tag = c, tag
		return d.print(names)
	}
	sums := map[string]func() byteSum{
		"crc": func() byteSum { return new(posixCRC) },
		"bsd": func() byteSum { return new(bsdSum) }, "sysv": func() byteSum { return new(sysvSum) },
	}
	fresh, ok := sums[kind]
	if !ok {
		return c.Fail(1, "invalid argument ‘%s’ for ‘--algorithm’", kind)
	}
	return printSums(c, names, fresh)
}

// A byteSum is a checksum with its own way of writing the result.
type byteSum interface {
	io.Writer
	// text is the line without the name.
	text(multiple bool) string
}

func printSums(c *shell.Call, names []string, fresh func() byteSum) error {
	for in := range c.InputsBytes(names) {
		s := fresh()
		if _, err := in.WriteTo(s); err != nil {
			return err
		}
		line := s.text(len(names) > 1)
		if len(names) > 0 {
			line += " " + in.Name
		}
		if _, err := c.Stdout.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// posixCRC is the CRC of POSIX cksum: MSB first, then the length.
type posixCRC struct {
	crc    uint32
	length uint64
}

func (p *posixCRC) Write(b []byte) (int, error) {
	n, crc, t := len(b), p.crc, posixcrc.Tables()
	p.length += uint64(n)
	for len(b) >= 8 {
		crc ^= uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		crc = t[7][crc>>24] ^ t[6][crc>>16&255] ^ t[5][crc>>8&255] ^ t[4][crc&255] ^
			t[3][b[4]] ^ t[2][b[5]] ^ t[1][b[6]] ^ t[0][b[7]]
		b = b[8:]
	}
	for _, ch := range b {
		crc = crc<<8 ^ t[0][byte(crc>>24)^ch]
	}
	p.crc = crc
	return n, nil
}

func (p *posixCRC) text(bool) string {
	crc := p.crc
	for n := p.length; n > 0; n >>= 8 {
		crc = crc<<8 ^ posixcrc.Tables()[0][byte(crc>>24)^byte(n)]
	}
	return fmt.Sprintf("%d %d", ^crc, p.length)
}
