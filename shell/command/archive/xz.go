package archive

import (
	"fmt"
	"io"

	"github.com/ulikunitz/xz"
)

var (
	Xz    = xzTool.command("xz", false, false)
	Unxz  = xzTool.command("unxz", true, false)
	Xzcat = xzTool.command("xzcat", true, true)
)

var xzTool = packTool{
	name: "xz", stdin: "(stdin)", suffix: ".xz", level: 6, suffixes: map[string]string{".xz": "", ".txz": ".tar"},
	open: openXz, create: createXz, done: xzDone,
	messages: map[packProblem]packMessage{
		packMissing:   {1, "{command}: {file}: {detail}"},
		packLink:      {2, "{command}: {file}: Is a symbolic link, skipping"},
		packDirectory: {2, "{command}: {file}: Is a directory, skipping"},
		packHasSuffix: {2, "{command}: {file}: File already has `{detail}' suffix, skipping"},
		packNoSuffix:  {2, "{command}: {file}: Filename has an unknown suffix, skipping"},
		packExists:    {1, "{command}: {file}: File exists"},
		packNotFormat: {1, "{command}: {file}: File format not recognized"},
		packCut:       {1, "{command}: {file}: Unexpected end of input"},
		packCorrupt:   {1, "{command}: {file}: Compressed data is corrupt"},
		packGarbage:   {1, "{command}: {file}: Compressed data is corrupt"},
	},
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
	return &heldWriter{zw, func() { p.Limiter.Hold(-cost) }}, nil
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
