package archive

import (
	"context"
	"fmt"
	"io"

	"github.com/ulikunitz/xz"

	"hako/shell"
)

var (
	Xz = shell.Command{Name: "xz",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &xzTool, false, false) }}
	Unxz = shell.Command{Name: "unxz",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &xzTool, true, false) }}
	Xzcat = shell.Command{Name: "xzcat",
		Run: func(ctx context.Context, c *shell.Call) error { return runPack(ctx, c, &xzTool, true, true) }}
)

var xzTool = packTool{
	name: "xz", suffix: ".xz", suffixes: map[string]string{".xz": "", ".txz": ".tar"},
	open: openXz, create: createXz, trouble: xzTrouble, done: xzDone,
}

// xzDicts are the dictionary sizes of the levels.
var xzDicts = [...]int{256 << 10, 1 << 20, 2 << 20, 4 << 20, 4 << 20, 8 << 20, 8 << 20, 16 << 20, 16 << 20, 16 << 20}

func createXz(p *packer, w io.Writer, name string) (io.WriteCloser, error) {
	dict := xzDicts[p.level]
	cost := int64(dict)*6 + 4<<20 // measured: the match finder keeps positions beside the bytes
	if err := p.Limiter.Hold(cost); err != nil {
		return nil, err
	}
	zw, err := xz.WriterConfig{DictCap: dict, CheckSum: xz.CRC64}.NewWriter(w)
	if err != nil {
		p.Limiter.Hold(-cost)
		return nil, err
	}
	return &xzHolder{zw, func() { p.Limiter.Hold(-cost) }}, nil
}

type xzHolder struct {
	*xz.Writer
	release func()
}

func (h *xzHolder) Close() error {
	defer h.release()
	return h.Writer.Close()
}

func openXz(p *packer, r io.Reader) (io.Reader, error) {
	x, err := newXzReader(p.Limiter, r)
	if err == errPackFormat && p.force && p.stdout {
		return x.br, nil
	}
	if err != nil {
		return nil, err
	}
	return x, nil
}

func xzTrouble(p *packer, t packTrouble, name, detail string) {
	if name == "stdin" {
		name = "(stdin)"
	}
	switch t {
	case packMissing:
		p.complain(1, "%s: %s: %s", p.Name, name, detail)
	case packLink:
		p.complain(2, "%s: %s: Is a symbolic link, skipping", p.Name, name)
	case packDirectory:
		p.complain(2, "%s: %s: Is a directory, skipping", p.Name, name)
	case packHasSuffix:
		p.complain(2, "%s: %s: File already has `%s' suffix, skipping", p.Name, name, detail)
	case packNoSuffix:
		p.complain(2, "%s: %s: Filename has an unknown suffix, skipping", p.Name, name)
	case packExists:
		p.complain(1, "%s: %s: File exists", p.Name, name)
	case packNotFormat:
		p.complain(1, "%s: %s: File format not recognized", p.Name, name)
	case packCut:
		p.complain(1, "%s: %s: Unexpected end of input", p.Name, name)
	case packCorrupt, packGarbage:
		p.complain(1, "%s: %s: Compressed data is corrupt", p.Name, name)
	}
}

func xzDone(p *packer, from, to string, in, out int64) {
	if p.test {
		return
	}
	packed, plain := out, in
	if p.decode {
		packed, plain = in, out
	}
	if from == "stdin" {
		from = "(stdin)"
	}
	ratio := "---"
	if plain > 0 {
		ratio = fmt.Sprintf("%.3f", float64(packed)/float64(plain))
	}
	fmt.Fprintf(p.Stderr, "%s: %s / %s = %s\n", from, xzSize(packed), xzSize(plain), ratio)
}

func xzSize(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	v, i := float64(n), 0
	for v > 9999 && i < len(units)-1 {
		v /= 1024
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[i])
}
