package data

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Xxd = shell.Command{Name: "xxd", Run: runXxd}

type xxd struct {
	*shell.Call
	auto, bits, decimal, little, include, plain, reverse, upper, capital bool
	cols, group                                                          int
	limit, seek, shift                                                   int64
	name                                                                 string
	given                                                                map[string]bool
	digits                                                               string
	w                                                                    io.Writer
	at                                                                   int64
	out                                                                  []byte
	held                                                                 []byte // a line of zeros that was swallowed
}

func runXxd(_ context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	x := &xxd{Call: c, limit: -1, given: map[string]bool{}, digits: cli.LowerHex, w: c.Stdout}
	names, err := x.parse(c.Args)
	if err != nil {
		return err
	}
	if len(names) > 2 {
		return shell.ErrUsage
	}
	x.defaults()
	if x.cols < 0 || !x.plain && x.cols > 256 {
		return c.Fail(1, "invalid number of columns (max. 256).")
	}
	in := io.Reader(c.Stdin)
	if len(names) > 0 && !shell.IsStdin(names[0]) {
		f, err := c.OpenBytes(names[0])
		if err == nil && f.IsDir() {
			f.Close()
			err = vfs.ErrIsDir
		}
		if err != nil {
			return c.Fail(2, "%s: %s", names[0], vfs.Reason(err))
		}
		defer f.Close()
		x.name = cmp.Or(x.name, names[0])
		in = f
	}
	if len(names) > 1 && names[1] != "-" {
		f, err := c.FS.Open(c.Path(names[1]), os.O_WRONLY|os.O_CREATE|xxdTruncate(x.reverse), 0o666)
		if err != nil {
			return c.Fail(3, "%s: %s", names[1], vfs.Reason(err))
		}
		defer f.Close()
		x.w = f
	}
	x.run(in)
	return nil
}

// write writes to the output file.
func (x *xxd) write(b []byte) {
	_, err := x.w.Write(b)
	cli.Check(err)
}

// xxdTruncate keeps the rest of an output file that a dump patches.
func xxdTruncate(reverse bool) int {
	if reverse {
		return 0
	}
	return os.O_TRUNC
}

// parse reads the options, which xxd spells with one dash even when long.
func (x *xxd) parse(args []string) (names []string, err error) {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		if word == "--" {
			return append(names, args...), nil
		}
		if len(word) < 2 || word[0] != '-' {
			names = append(names, word)
			continue
		}
		opt := strings.TrimPrefix(word[1:], "-")
		if used, err := x.value(opt, args); err != nil || used > 0 {
			if err != nil {
				return nil, err
			}
			args = args[used-1:]
			continue
		}
		if !x.flag(opt) {
			return nil, shell.ErrUsage
		}
	}
	return names, nil
}

var xxdLong = map[string]string{
	"autoskip": "a", "bits": "b", "capitalize": "C", "include": "i", "plain": "p", "ps": "p", "postscript": "p",
	"revert": "r", "uppercase": "u", "cols": "c", "groupsize": "g", "len": "l", "name": "n", "seek": "s", "skip": "s",
}

// value sets an option that takes a value; used is 1 if it was in the same word,
// 2 if it was the next word, 0 if the option takes no value.
func (x *xxd) value(opt string, args []string) (used int, err error) {
	if short, ok := xxdLong[opt]; ok {
		opt = short
	}
	if opt == "" || !strings.Contains("cglnos", opt[:1]) {
		return 0, nil
	}
	text, used := opt[1:], 1
	if text == "" {
		if len(args) == 0 {
			return 0, shell.ErrUsage
		}
		text, used = args[0], 2
	}
	x.given[opt[:1]] = true
	if opt[0] == 'n' {
		x.name = text
		return used, nil
	}
	n, _ := strconv.ParseInt(strings.TrimPrefix(text, "+"), 0, 64)
	switch opt[0] {
	case 'c':
		x.cols = int(min(n, 1<<20))
	case 'g':
		x.group = int(max(0, min(n, 1<<20)))
	case 'l':
		x.limit = n
	case 'o':
		x.shift = n
	case 's':
		x.seek = n
	}
	return used, nil
}

func (x *xxd) flag(opt string) bool {
	if short, ok := xxdLong[opt]; ok {
		opt = short
	}
	if opt == "u" {
		x.digits = "0123456789ABCDEF"
	}
	flag, ok := map[string]*bool{"a": &x.auto, "b": &x.bits, "C": &x.capital, "d": &x.decimal, "e": &x.little,
		"E": new(bool), "i": &x.include, "p": &x.plain, "r": &x.reverse, "u": &x.upper}[opt]
	if ok {
		*flag = true
	}
	return ok
}

func (x *xxd) defaults() {
	if !x.given["c"] || x.cols == 0 && !x.plain {
		x.cols = map[bool]int{true: 30, false: 16}[x.plain]
		if x.bits {
			x.cols = 6
		}
		if x.include {
			x.cols = 12
		}
	}
	if !x.given["g"] {
		x.group = 2
		if x.bits {
			x.group = 1
		}
		if x.little {
			x.group = 4
		}
	}
	if x.group == 0 || x.group > x.cols {
		x.group = max(x.cols, 1)
	}
}

func (x *xxd) run(in io.Reader) {
	if x.reverse {
		x.revert(in)
		return
	}
	if !x.skip(in) {
		return
	}
	if x.limit >= 0 {
		in = io.LimitReader(in, x.limit)
	}
	switch {
	case x.plain:
		x.dumpPlain(in)
	case x.include:
		x.dumpC(in)
	default:
		eachRow(in, x.cols, true, func(data []byte, _ bool) { x.row(data) }, nil)
		x.lastRow()
	}
}

// skip moves to the start; a negative one counts from the end of the file. It
// returns false if the input ends before.
func (x *xxd) skip(in io.Reader) bool {
	n := x.seek
	if f, ok := in.(*vfs.File); ok && n < 0 {
		n = max(0, f.Size()+n)
	} else if n < 0 {
		cli.Check(x.Fail(4, "Sorry, cannot seek."))
	}
	x.at = n
	_, err := io.CopyN(io.Discard, in, n)
	cli.Check(cli.NotEOF(err))
	return err == nil
}

func (x *xxd) dumpPlain(in io.Reader) {
	wrap := &lineWrapper{w: x.w, cols: 2 * x.cols}
	buf, text := make([]byte, 4096), make([]byte, 0, 8192)
	any := false
	for {
		n, err := in.Read(buf)
		text = text[:0]
		for _, ch := range buf[:n] {
			text = append(text, x.digits[ch>>4], x.digits[ch&15])
		}
		any = any || n > 0
		wrap.write(text)
		if err == io.EOF {
			break
		}
		cli.Check(err)
	}
	if x.cols == 0 && any {
		x.write([]byte{'\n'})
	} else {
		wrap.end()
	}
}

// dumpC writes a C array; without a name only its elements.
func (x *xxd) dumpC(in io.Reader) {
	name := x.cName()
	if name != "" {
		fmt.Fprintf(x.w, "unsigned char %s[] = {\n", name)
	}
	total := 0
	eachRow(in, x.cols, true, func(data []byte, _ bool) {
		b := x.out[:0]
		for i, ch := range data {
			switch {
			case total+i == 0:
				b = append(b, "  "...)
			case i == 0:
				b = append(b, ",\n  "...)
			default:
				b = append(b, ", "...)
			}
			b = append(b, '0', "xX"[cli.BoolInt(x.upper)], x.digits[ch>>4], x.digits[ch&15])
		}
		total += len(data)
		x.out = b
		x.write(b)
	}, nil)
	if total > 0 {
		x.write([]byte{'\n'})
	}
	if name != "" {
		x.write(fmt.Appendf(nil, "};\nunsigned int %s_%s = %d;\n", name,
			map[bool]string{true: "LEN", false: "len"}[x.capital], total))
	}
}

// cName makes an identifier of the file's name.
func (x *xxd) cName() string {
	b := []byte(x.name)
	for i, ch := range b {
		if !(ch >= 'a' && ch <= 'z' || ch >= 'A' && ch <= 'Z' || ch >= '0' && ch <= '9') {
			b[i] = '_'
		}
	}
	name := string(b)
	if name != "" && name[0] >= '0' && name[0] <= '9' {
		name = "__" + name
	}
	if x.capital {
		name = strings.ToUpper(name)
	}
	return name
}
