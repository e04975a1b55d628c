package data

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"math/bits"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Cksum = shell.Command{Name: "cksum", Run: runCksum}

func runCksum(ctx context.Context, c *shell.Call) error {
	kind, tag := "crc", true
	names, err := cli.Parse(c, cli.Flags{"a": &kind, "tag": &tag, "untagged": cli.Set(&tag, false)})
	if err != nil {
		return err
	}
	if a, ok := digests[kind]; ok {
		return cli.Try(func() {
			d := digest{Call: c, algorithm: a, tag: tag}
			for in := range c.InputsBytes(names) {
				d.print(in)
			}
		})
	}
	sums := map[string]func() byteSum{
		"crc": func() byteSum { return new(posixCRC) },
		"bsd": newBSDSum, "sysv": newSysvSum,
	}
	fresh, ok := sums[kind]
	if !ok {
		return c.Fail(1, "invalid argument ‘%s’ for ‘--algorithm’", kind)
	}
	return printSums(c, names, fresh)
}

// A byteSum is a checksum with its own format of the result.
type byteSum interface {
	io.Writer
	// text is the line without the name.
	text() string
}

func printSums(c *shell.Call, names []string, fresh func() byteSum) error {
	for in := range c.InputsBytes(names) {
		s := fresh()
		if _, err := in.WriteTo(s); err != nil {
			return err
		}
		line := s.text()
		if len(names) > 0 {
			line += " " + in.Name
		}
		if _, err := c.Stdout.WriteString(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// posixCRC is the CRC of POSIX cksum: the polynomial of hash/crc32 with the high bit
// first, so the bits of every byte are reversed; then the length follows.
type posixCRC struct {
	crc    uint32
	length uint64
}

func (p *posixCRC) Write(b []byte) (int, error) {
	p.length += uint64(len(b))
	p.update(b)
	return len(b), nil
}

func (p *posixCRC) update(b []byte) {
	var reversed [4096]byte
	for len(b) > 0 {
		n := min(len(b), len(reversed))
		for i, ch := range b[:n] {
			reversed[i] = bits.Reverse8(ch)
		}
		p.crc = ^crc32.Update(^p.crc, crc32.IEEETable, reversed[:n])
		b = b[n:]
	}
}

func (p *posixCRC) text() string {
	sum := *p
	for n := p.length; n > 0; n >>= 8 {
		sum.update([]byte{byte(n)})
	}
	return fmt.Sprintf("%d %d", ^bits.Reverse32(sum.crc), p.length)
}
