package data

import (
	"context"
	"io"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
)

var Hexdump = shell.Command{Name: "hexdump", Run: runHexdump}

// hexdumpForms are the fixed forms, written as formats of -e.
var hexdumpForms = map[string][]string{
	"":  {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 "%04x " "\n"`},
	"C": {`"%08.8_Ax\n"`, `"%08.8_ax  " 8/1 "%02x " "  " 8/1 "%02x "`, `"  |" 16/1 "%_p" "|\n"`},
	"b": {`"%07.7_Ax\n"`, `"%07.7_ax " 16/1 "%03o " "\n"`},
	"c": {`"%07.7_Ax\n"`, `"%07.7_ax " 16/1 "%3_c " "\n"`},
	"d": {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 "  %05u " "\n"`},
	"o": {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 " %06o " "\n"`},
	"x": {`"%07.7_Ax\n"`, `"%07.7_ax " 8/2 "   %04x " "\n"`},
}

func runHexdump(_ context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	var formats []string
	var skip int64
	limit, all := int64(-1), false
	names, err := cli.Parse(c, cli.Flags{
		"n": odNumber(&limit), "s": odNumber(&skip), "v": &all, "e": &formats,
		"C b c d o x": func(o cli.Option) error { formats = append(formats, hexdumpForms[o.Name]...); return nil },
	})
	if err != nil {
		return err
	}
	if formats == nil {
		formats = hexdumpForms[""]
	}
	h := &hexdump{Call: c}
	for _, f := range formats {
		if err := cli.Try(func() { h.strings = append(h.strings, parseHexFormat(f)) }); err != nil {
			return c.Fail(1, "%v", err)
		}
	}
	h.dump(names, skip, limit, all)
	return c.Stdout.Err()
}

// A hexdump is one call: format strings that are each applied to every block.
type hexdump struct {
	*shell.Call
	strings [][]hexUnit
	at      int64 // address of the block
	out     []byte
}

func (h *hexdump) dump(names []string, skip, limit int64, all bool) {
	block := 1
	for _, units := range h.strings {
		block = max(block, hexBlockSize(units))
	}
	cli.Check(h.Limiter.Fits(int64(block) * 64))
	for _, units := range h.strings {
		repeatLast(units, block)
	}
	in, failed := concatBytes(h.Call, names)
	_, err := io.CopyN(io.Discard, in, skip)
	cli.Check(cli.NotEOF(err))
	h.at = skip
	if limit >= 0 {
		in = io.LimitReader(in, limit)
	}
	eachRow(in, block, all, h.row, h.Stdout)
	if n := len(names); n > 0 && *failed == n {
		h.Warn("all input file arguments failed")
	} else if h.at > skip {
		h.out = h.out[:0]
		h.addresses()
		h.Stdout.Write(h.out)
	}
}

// row applies every format string to one block; skip only advances.
func (h *hexdump) row(data []byte, skip bool) {
	if !skip {
		h.out = h.out[:0]
		for _, units := range h.strings {
			at := 0
			for i := range units {
				at = h.unit(&units[i], data, at)
			}
		}
		_, err := h.Stdout.Write(h.out)
		cli.Check(err)
	}
	h.at += int64(len(data))
}

// unit prints one unit count times, starting with byte at of the block.
func (h *hexdump) unit(u *hexUnit, data []byte, at int) int {
	if u.atEnd() {
		return at
	}
	for k := range u.count {
		last := k == u.count-1 && u.count > 1
		for i, p := range u.parts {
			text := p.text
			if p.verb == 0 {
				if last && i == len(u.parts)-1 {
					text = strings.TrimRight(text, " \t\n")
				}
				h.out = append(h.out, text...)
				continue
			}
			h.out = p.format(h.out, data, at, h.at+int64(at))
			at += p.size
		}
	}
	return at
}

// addresses prints the _A conversions, which come once at the end.
func (h *hexdump) addresses() {
	for _, units := range h.strings {
		for _, u := range units {
			for i, p := range u.parts {
				if p.verb != 'A' {
					continue
				}
				h.out = p.format(h.out, nil, 0, h.at)
				for _, rest := range u.parts[i+1:] {
					h.out = append(h.out, rest.text...)
				}
			}
		}
	}
}
