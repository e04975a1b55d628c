package archive

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/command/internal/cli"
)

var (
	Gzip = shell.Command{Name: "gzip",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &gzipTool, false, false) }}
	Gunzip = shell.Command{Name: "gunzip",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &gzipTool, true, false) }}
	Zcat = shell.Command{Name: "zcat",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &gzipTool, true, true) }}
)

// runPack parses the options all three tools share.
func runPack(ctx context.Context, c *shell.Call, tool *packTool, decode, stdout bool) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	p := &packer{Call: c, ctx: ctx, tool: tool, decode: decode, stdout: stdout, level: 6}
	if tool.name == "gzip" {
		c.Name = "gzip" // gunzip and zcat speak in its name
	}
	if tool.name == "bzip2" {
		p.level = 9
	}
	for _, o := range opts {
		p.set(o)
	}
	if p.list && tool.list == nil {
		return c.Fail(1, "-l is not available here")
	}
	return p.run(names)
}

func (p *packer) set(o cli.Option) {
	switch o.Name {
	case "c":
		p.stdout = true
	case "d":
		p.decode = true
	case "z":
		p.decode = false
	case "f":
		p.force = true
	case "k":
		p.keep = true
	case "l":
		p.list = true
	case "n":
		p.noName = true
	case "q":
		p.quiet = true
	case "r":
		p.recurse = true
	case "S":
		p.suffix = o.Value
		if p.suffix != "" && p.suffix[0] != '.' {
			p.suffix = "." + p.suffix
		}
	case "t":
		p.decode, p.test = true, true
	case "v":
		p.verbose = true
	case "0", "1", "2", "3", "4", "5", "6", "7", "8", "9":
		p.level = int(o.Name[0] - '0')
	}
}

var gzipTool = packTool{
	name: "gzip", suffix: ".gz",
	suffixes: map[string]string{".gz": "", ".tgz": ".tar", ".taz": ".tar", "-gz": "", ".z": ""},
	open:     openGzip, create: createGzip, trouble: gzipTrouble, done: gzipDone, list: gzipList,
}

func createGzip(p *packer, w io.Writer, name string) (io.WriteCloser, error) {
	zw, err := gzip.NewWriterLevel(w, max(p.level, 1))
	if err != nil {
		return nil, err
	}
	zw.OS = 3
	if name != "stdin" && !p.noName && isLatin1(path.Base(name)) {
		zw.Name = path.Base(name)
	}
	return zw, nil
}

// isLatin1 reports whether the header can hold the name.
func isLatin1(s string) bool {
	for _, r := range s {
		if r == 0 || r > 0xff {
			return false
		}
	}
	return true
}

// openGzip reads all members of a file as one.
func openGzip(p *packer, r io.Reader) (io.Reader, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	magic, err := br.Peek(2)
	if len(magic) < 2 {
		if p.force && p.stdout {
			return br, nil
		}
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if magic[0] != 0x1f || magic[1] != 0x8b {
		if p.force && p.stdout {
			return br, nil
		}
		return nil, errPackFormat
	}
	zr, err := gzip.NewReader(br)
	if err != nil {
		return nil, gzipError(err)
	}
	zr.Multistream(false)
	return &gzipMembers{br: br, zr: zr}, nil
}

type gzipMembers struct {
	br *bufio.Reader
	zr *gzip.Reader
}

func (g *gzipMembers) Read(b []byte) (int, error) {
	n, err := g.zr.Read(b)
	if err != io.EOF || n > 0 {
		if err == io.EOF {
			err = nil
		}
		return n, gzipError(err)
	}
	if err := g.next(); err != nil {
		return 0, err
	}
	return 0, nil
}

// next begins the next member. Zeros that follow are padding; anything else is
// garbage.
func (g *gzipMembers) next() error {
	for {
		magic, err := g.br.Peek(2)
		switch {
		case len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b:
			if err := g.zr.Reset(g.br); err != nil {
				return gzipError(err)
			}
			g.zr.Multistream(false)
			return nil
		case len(magic) == 0:
			return err
		case magic[0] != 0:
			return errPackGarbage
		}
		g.br.Discard(1)
	}
}

func gzipError(err error) error {
	if errors.Is(err, gzip.ErrHeader) {
		return errPackFormat
	}
	return err
}

func gzipTrouble(p *packer, t packTrouble, name, detail string) {
	switch t {
	case packMissing:
		p.complain(1, "gzip: %s: %s", name, detail)
	case packLink:
		p.complain(1, "gzip: %s: Too many levels of symbolic links", name)
	case packDirectory:
		p.complain(2, "gzip: %s is a directory -- ignored", name)
	case packHasSuffix:
		fmt.Fprintf(p.Stderr, "gzip: %s already has %s suffix -- unchanged\n", name, detail)
	case packNoSuffix:
		p.complain(2, "gzip: %s: unknown suffix -- ignored", name)
	case packExists:
		p.complain(2, "gzip: %s already exists;\tnot overwritten", name)
	case packNotFormat:
		p.complain(1, "\ngzip: %s: not in gzip format", name)
	case packCut:
		p.complain(1, "\ngzip: %s: unexpected end of file", name)
	case packCorrupt:
		why := "format violated"
		if detail == gzip.ErrChecksum.Error() {
			why = "crc error"
		}
		p.complain(1, "\ngzip: %s: invalid compressed data--%s", name, why)
	case packGarbage:
		p.complain(2, "\ngzip: %s: decompression OK, trailing garbage ignored", name)
	}
}

// isLimit reports whether err is the session's, not the data's.
func isLimit(err error) bool {
	switch fault.KindOf(err) {
	case fault.Exhausted, fault.Timeout, fault.Denied, fault.TooLarge:
		return true
	}
	return false
}
