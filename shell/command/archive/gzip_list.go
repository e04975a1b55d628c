package archive

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// gzipDone prints what -v reports about one file.
func gzipDone(p *packer, from, to string, in, out int64) {
	packed, plain := out, in
	if p.decode {
		packed, plain = in, out
	}
	header := int64(18)
	if from != "stdin" && !p.decode && !p.noName {
		header += int64(len(from)) + 1
	}
	if from == "stdin" {
		from = ""
	} else {
		from += ":\t"
	}
	switch {
	case p.test:
		fmt.Fprintf(p.Stderr, "%s OK\n", from)
	case to == "":
		fmt.Fprintf(p.Stderr, "%s%s\n", from, gzipRatio(plain-(packed-header), plain))
	case p.keep:
		fmt.Fprintf(p.Stderr, "%s%s -- created %s\n", from, gzipRatio(plain-(packed-header), plain), to)
	default:
		fmt.Fprintf(p.Stderr, "%s%s -- replaced with %s\n", from, gzipRatio(plain-(packed-header), plain), to)
	}
}

func gzipRatio(saved, of int64) string {
	if of == 0 {
		return "  0.0%"
	}
	return fmt.Sprintf("%5.1f%%", 100*float64(saved)/float64(of))
}

// gzipList prints the table of -l.
func gzipList(p *packer, names []string) {
	for _, name := range names {
		gzipListOne(p, name)
	}
	if p.listed > 1 {
		in, out := p.totals[0], p.totals[1]
		fmt.Fprintf(p.Stdout, "%19d %19d %s (totals)\n", in, out, gzipRatio(out-in, out))
	}
}

func gzipListOne(p *packer, name string) {
	if _, err := p.FS.Stat(p.Path(name)); err != nil && !shell.IsStdin(name) && !strings.HasSuffix(name, p.suffix) {
		name += p.suffix
	}
	src, done, err := cli.OpenWith(p.Call, name, p.OpenBytes)
	if err != nil {
		p.report(packMissing, name, vfs.Reason(err))
		return
	}
	defer done()
	watched := &contextReader{ctx: p.ctx, r: src}
	packed, plain, header, err := gzipMeasure(watched)
	cli.Check(watched.err)
	if err != nil {
		if name == "-" {
			name = "stdin"
		}
		p.report(packNotFormat, name, "")
		return
	}
	if p.listed == 0 && !p.quiet {
		fmt.Fprintln(p.Stdout, "         compressed        uncompressed  ratio uncompressed_name")
	}
	p.listed++
	p.totals[0] += packed
	p.totals[1] += plain
	shown := "stdout"
	if name != "-" {
		shown = strings.TrimSuffix(name, p.suffix)
	}
	fmt.Fprintf(p.Stdout, "%19d %19d %s %s\n", packed, plain, gzipRatio(plain-(packed-header), plain), shown)
	cli.Check(p.Stdout.Err())
}

// gzipMeasure reads a stream to its end; its last bytes are the length.
func gzipMeasure(r *contextReader) (packed, plain, header int64, err error) {
	br := bufio.NewReaderSize(r, 64<<10)
	zr, err := gzip.NewReader(br)
	if err != nil {
		return 0, 0, 0, err
	}
	header = 18
	if zr.Name != "" {
		header += int64(len(zr.Name)) + 1
	}
	tail := &tailWriter{ctx: r.ctx}
	if _, err := io.Copy(tail, br); err != nil {
		return 0, 0, 0, err
	}
	if len(tail.last) < 4 {
		return 0, 0, 0, io.ErrUnexpectedEOF
	}
	return r.n, int64(binary.LittleEndian.Uint32(tail.last[len(tail.last)-4:])), header, nil
}

// tailWriter keeps the last bytes of a stream.
type tailWriter struct {
	ctx  context.Context
	last []byte
}

func (t *tailWriter) Write(b []byte) (int, error) {
	if t.ctx.Err() != nil {
		return 0, context.Cause(t.ctx)
	}
	t.last = append(t.last, b[max(0, len(b)-8):]...)
	t.last = t.last[max(0, len(t.last)-8):]
	return len(b), nil
}
