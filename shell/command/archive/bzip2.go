package archive

import (
	"bufio"
	"compress/bzip2"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hako/shell"
)

var (
	Bzip2 = shell.Command{Name: "bzip2",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &bzip2Tool, false, false) }}
	Bunzip2 = shell.Command{Name: "bunzip2",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &bzip2Tool, true, false) }}
	Bzcat = shell.Command{Name: "bzcat",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &bzip2Tool, true, true) }}
)

var bzip2Tool = packTool{
	name: "bzip2", suffix: ".bz2",
	suffixes: map[string]string{".bz2": "", ".bz": "", ".tbz2": ".tar", ".tbz": ".tar"},
	open:     openBzip2, create: createBzip2, trouble: bzip2Trouble, done: bzip2Done,
}

func createBzip2(p *packer, w io.Writer, name string) (io.WriteCloser, error) {
	level := max(p.level, 1)
	cost := bzip2Cost(level)
	if err := p.Limiter.Hold(cost); err != nil {
		return nil, err
	}
	return &bzip2Holder{newBzip2Writer(p.ctx, w, level), func() { p.Limiter.Hold(-cost) }}, nil
}

// bzip2Holder gives the memory back when the stream is finished.
type bzip2Holder struct {
	*bzip2Writer
	release func()
}

func (h *bzip2Holder) Close() error {
	defer h.release()
	return h.bzip2Writer.Close()
}

func openBzip2(p *packer, r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(4)
	if len(magic) < 4 && err == io.EOF && len(magic) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	if len(magic) < 4 || string(magic[:3]) != "BZh" || magic[3] < '1' || magic[3] > '9' {
		if p.force && p.stdout {
			return br, nil
		}
		return nil, errPackFormat
	}
	return &bzip2Reader{bzip2.NewReader(br)}, nil
}

type bzip2Reader struct{ r io.Reader }

func (b *bzip2Reader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	var bad bzip2.StructuralError
	if errors.As(err, &bad) && strings.Contains(string(bad), "continuation") {
		err = errPackGarbage
	}
	return n, err
}

const bzip2Recover = `
You can use the ` + "`bzip2recover'" + ` program to attempt to recover
data from undamaged sections of corrupted files.
`

func bzip2Trouble(p *packer, t packTrouble, name, detail string) {
	if name == "stdin" {
		name = "(stdin)"
	}
	switch t {
	case packMissing:
		p.complain(1, "%s: Can't open input file %s: %s.", p.Name, name, detail)
	case packLink:
		p.complain(1, "%s: Input file %s is not a normal file.", p.Name, name)
	case packDirectory:
		p.complain(1, "%s: Input file %s is a directory.", p.Name, name)
	case packHasSuffix:
		p.complain(1, "%s: Input file %s already has %s suffix.", p.Name, name, detail)
	case packNoSuffix:
		fmt.Fprintf(p.Stderr, "%s: Can't guess original name for %s -- using %s.out\n", p.Name, name, name)
	case packExists:
		p.complain(1, "%s: Output file %s already exists.", p.Name, name)
	case packNotFormat:
		if p.test {
			p.complain(2, "%s: %s: bad magic number (file not created by bzip2)\n%s", p.Name, name, bzip2Recover)
		} else {
			p.complain(2, "%s: %s is not a bzip2 file.", p.Name, name)
		}
		p.status = max(p.status, 1)
	case packCut:
		p.complain(1, "\n%s: Compressed file ends unexpectedly;\n\tperhaps it is corrupted?\n\tInput file = %s", p.Name, name)
		p.status = 2
	case packCorrupt:
		p.complain(1, "\n%s: Data integrity error when decompressing.\n\tInput file = %s", p.Name, name)
		p.status = 2
	case packGarbage:
		fmt.Fprintf(p.Stderr, "\n%s: %s: trailing garbage after EOF ignored\n", p.Name, name)
	}
}

func bzip2Done(p *packer, from, to string, in, out int64) {
	if from == "stdin" {
		from = "(stdin)"
	}
	fmt.Fprintf(p.Stderr, "  %s: %s", from, strings.Repeat(" ", max(0, 7-len(from))))
	switch {
	case p.test:
		fmt.Fprintln(p.Stderr, "ok")
	case p.decode:
		fmt.Fprintln(p.Stderr, "done")
	case in == 0:
		fmt.Fprintln(p.Stderr, " no data compressed.")
	default:
		fmt.Fprintf(p.Stderr, "%6.3f:1, %6.3f bits/byte, %5.2f%% saved, %d in, %d out.\n",
			float64(in)/float64(out), 8*float64(out)/float64(in), 100*(1-float64(out)/float64(in)), in, out)
	}
}
