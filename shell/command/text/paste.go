package text

import (
	"context"
	"strings"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Paste = shell.Command{Name: "paste", Run: runPaste}

type paster struct {
	seps []string
	end  byte
	out  *stream.Writer
}

func runPaste(ctx context.Context, c *shell.Call) error {
	p := paster{seps: []string{"\t"}, end: '\n', out: c.Stdout}
	serial := false
	names, err := cli.Parse(c, cli.Flags{
		"s": &serial, "z": cli.Set(&p.end, 0),
		"d": func(list string) { p.seps = delimiters(list) },
	})
	switch {
	case err != nil:
		return err
	case serial:
		return cli.Each(c, c.Inputs(names), func(in shell.Input) error { return p.serial(in.Reader) })
	case len(names) == 0:
		names = []string{"-"}
	}
	return p.parallel(c, names)
}

// delimiters parses the list of -d.
func delimiters(list string) []string {
	var out []string
	for len(list) > 0 {
		_, n := utf8.DecodeRuneInString(list)
		d := list[:n]
		if d == `\` && len(list) > 1 {
			_, m := utf8.DecodeRuneInString(list[1:])
			d = list[1 : 1+m]
			if i := strings.Index("0bfnrtv", d); i >= 0 {
				d = []string{"", "\b", "\f", "\n", "\r", "\t", "\v"}[i]
			}
			n += m
		}
		out = append(out, d)
		list = list[n:]
	}
	if len(out) == 0 {
		return []string{""}
	}
	return out
}

func (p *paster) serial(in *stream.Reader) error {
	n := 0
	err := cli.EachLine(in, p.end, func(line []byte, _ bool) error {
		if n > 0 {
			p.out.WriteString(p.seps[(n-1)%len(p.seps)])
		}
		n++
		_, err := p.out.Write(line)
		return err
	})
	p.out.WriteByte(p.end)
	return err
}

func (p *paster) parallel(c *shell.Call, names []string) (err error) {
	defer cli.Catch(&err)
	ins := make([]lineCursor, 0, len(names))
	for _, name := range names {
		in, done, err := cli.OpenOperand(c, name)
		if err != nil {
			return c.Fail(1, "%s: %s", name, vfs.Reason(err))
		}
		defer done()
		ins = append(ins, lineCursor{in: in.Reader, end: p.end})
	}
	for p.out.Err() == nil && p.row(ins) {
	}
	return p.out.Err()
}

// row prints the next line of every input that has one. It reports false if none has.
func (p *paster) row(ins []lineCursor) (printed bool) {
	pending := 0 // separators, which are only printed if there is a row
	for i := range ins {
		if i > 0 {
			pending++
		}
		in := &ins[i]
		if !in.over {
			in.next()
		}
		if in.over {
			continue
		}
		printed = true
		p.separate(i-pending, i)
		pending = 0
		p.out.Write(in.line)
	}
	if printed {
		p.separate(len(ins)-1-pending, len(ins)-1)
		p.out.WriteByte(p.end)
	}
	return printed
}

// separate writes the separators before columns from+1 to to.
func (p *paster) separate(from, to int) {
	for i := from; i < to; i++ {
		p.out.WriteString(p.seps[i%len(p.seps)])
	}
}
