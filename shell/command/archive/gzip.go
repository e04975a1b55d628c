package archive

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"path"

	"hako/run/fault"
)

var (
	Gzip   = gzipTool.command("gzip", false, false)
	Gunzip = gzipTool.command("gunzip", true, false)
	Zcat   = gzipTool.command("zcat", true, true)
)

var gzipTool = packTool{
	name: "gzip", stdin: "stdin", suffix: ".gz", level: 6,
	suffixes: map[string]string{".gz": "", ".tgz": ".tar", ".taz": ".tar", "-gz": "", ".z": ""},
	open:     openGzip, create: createGzip, done: gzipDone, list: gzipList,
	messages: map[packProblem]packMessage{
		packMissing:   {1, "gzip: {file}: {detail}"},
		packLink:      {1, "gzip: {file}: Too many levels of symbolic links"},
		packDirectory: {2, "gzip: {file} is a directory -- ignored"},
		packHasSuffix: {0, "gzip: {file} already has {detail} suffix -- unchanged"},
		packNoSuffix:  {2, "gzip: {file}: unknown suffix -- ignored"},
		packExists:    {2, "gzip: {file} already exists;\tnot overwritten"},
		packNotFormat: {1, "\ngzip: {file}: not in gzip format"},
		packCut:       {1, "\ngzip: {file}: unexpected end of file"},
		packCorrupt:   {1, "\ngzip: {file}: invalid compressed data--{detail}"},
		packGarbage:   {2, "\ngzip: {file}: decompression OK, trailing garbage ignored"},
	},
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

// isLimit reports whether err comes from the session, not from the data.
func isLimit(err error) bool {
	switch fault.KindOf(err) {
	case fault.Exhausted, fault.Timeout, fault.Denied, fault.TooLarge:
		return true
	}
	return false
}
