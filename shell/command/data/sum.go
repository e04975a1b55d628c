package data

import (
	"context"
	"fmt"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Sum = shell.Command{Name: "sum", Run: func(ctx context.Context, c *shell.Call) error {
	fresh := newBSDSum
	names, err := cli.Parse(c, cli.Flags{"r": cli.Set(&fresh, newBSDSum), "s": cli.Set(&fresh, newSysvSum)})
	if err != nil {
		return err
	}
	return printSums(c, names, fresh)
}}

func newBSDSum() byteSum { return new(bsdSum) }

func newSysvSum() byteSum { return new(sysvSum) }

// bsdSum rotates right before each byte.
type bsdSum struct {
	sum    uint16
	length uint64
}

func (s *bsdSum) Write(b []byte) (int, error) {
	sum := s.sum
	for _, ch := range b {
		sum = (sum>>1 | sum<<15) + uint16(ch)
	}
	s.sum = sum
	s.length += uint64(len(b))
	return len(b), nil
}

func (s *bsdSum) text() string { return fmt.Sprintf("%05d %5d", s.sum, (s.length+1023)/1024) }

// sysvSum adds the bytes and folds the sum to 16 bits.
type sysvSum struct {
	sum    uint32
	length uint64
}

func (s *sysvSum) Write(b []byte) (int, error) {
	for _, ch := range b {
		s.sum += uint32(ch)
	}
	s.length += uint64(len(b))
	return len(b), nil
}

func (s *sysvSum) text() string {
	r := s.sum&0xffff + s.sum>>16
	return fmt.Sprintf("%d %d", r&0xffff+r>>16, (s.length+511)/512)
}
