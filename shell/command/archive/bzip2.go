package archive

import (
	"bufio"
	"compress/bzip2"
	"errors"
	"fmt"
	"io"
	"strings"
)

var (
	Bzip2   = bzip2Tool.command("bzip2", false, false)
	Bunzip2 = bzip2Tool.command("bunzip2", true, false)
	Bzcat   = bzip2Tool.command("bzcat", true, true)
)

var bzip2Tool = packTool{
	name: "bzip2", stdin: "(stdin)", suffix: ".bz2", level: 9,
	suffixes: map[string]string{".bz2": "", ".bz": "", ".tbz2": ".tar", ".tbz": ".tar"},
	open:     openBzip2, create: createBzip2, done: bzip2Done,
	messages: map[packProblem]packMessage{
		packMissing:   {1, "{command}: Can't open input file {file}: {detail}."},
		packLink:      {1, "{command}: Input file {file} is not a normal file."},
		packDirectory: {1, "{command}: Input file {file} is a directory."},
		packHasSuffix: {1, "{command}: Input file {file} already has {detail} suffix."},
		packNoSuffix:  {0, "{command}: Can't guess original name for {file} -- using {file}.out"},
		packExists:    {1, "{command}: Output file {file} already exists."},
		packNotFormat: {2, "{command}: {file} is not a bzip2 file."},
		packNotTested: {2, "{command}: {file}: bad magic number (file not created by bzip2)\n\n" +
			"You can use the `bzip2recover' program to attempt to recover\n" +
			"data from undamaged sections of corrupted files.\n"},
		packCut: {1, "\n{command}: Compressed file ends unexpectedly;\n\tperhaps it is corrupted?\n" +
			"\tInput file = {file}"},
		packCorrupt: {1, "\n{command}: Data integrity error when decompressing.\n\tInput file = {file}"},
		packGarbage: {0, "\n{command}: {file}: trailing garbage after EOF ignored"},
	},
}

func createBzip2(p *packer, w io.Writer, name string) (io.WriteCloser, error) {
	level := max(p.level, 1)
	cost := bzip2Cost(level)
	if err := p.Limiter.Hold(cost); err != nil {
		return nil, err
	}
	return &heldWriter{newBzip2Writer(p.ctx, w, level), func() { p.Limiter.Hold(-cost) }}, nil
}

func openBzip2(p *packer, r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(4)
	if len(magic) == 0 && err == io.EOF {
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
	if bad, ok := errors.AsType[bzip2.StructuralError](err); ok && strings.Contains(string(bad), "continuation") {
		err = errPackGarbage
	}
	return n, err
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
