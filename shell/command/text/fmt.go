package text

import (
	"bytes"
	"context"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Fmt = shell.Command{Name: "fmt", Run: runFmt}

type filler struct {
	width, goal                   int
	crown, tagged, split, uniform bool
	prefix                        string
	c                             *shell.Call
	poll                          cli.Poll

	words       []fmtWord
	text        []byte // of all words
	firstIndent int
	otherIndent int
	shown       string // the prefix with the blanks before it
	lastLength  int    // of the line before, when a long paragraph is cut
}

// A fmtWord is a word with what the choice of line breaks depends on.
type fmtWord struct {
	start, length, space          int
	paren, period, punct, final   bool
	lineLength, nextBreak, toCost int
}

func runFmt(ctx context.Context, c *shell.Call) error {
	c.Args = cli.ExpandDigits(c.Args, "-w")
	f := filler{width: -1, goal: -1, c: c, poll: cli.Poll{Ctx: ctx}}
	names, err := cli.Parse(c, cli.Flags{
		"w": cli.NumberInRange(&f.width, 0, 2500, "invalid width: ‘%s’"),
		"g": cli.NumberInRange(&f.goal, 0, 2500, "invalid width: ‘%s’"),
		"c": &f.crown, "t": &f.tagged, "s": &f.split, "u": &f.uniform, "p": &f.prefix,
	})
	switch {
	case err != nil:
		return err
	case f.width < 0 && f.goal < 0:
		f.width, f.goal = 75, 75*187/200
	case f.goal < 0:
		f.goal = f.width * 187 / 200
	case f.width < 0:
		f.width = f.goal + 10
	}
	failed := func(name string, err error) {
		if err == vfs.ErrIsDir {
			c.Warn("read error: %s", vfs.Reason(err))
			return
		}
		c.Warn("cannot open %s for reading: %s", cli.Quote(name), vfs.Reason(err))
	}
	return cli.Each(c, cli.Inputs(c, names, c.Open, failed), f.file)
}

// fmtLine is an input line: its indent, and the text after prefix and indent.
type fmtLine struct {
	indent int
	text   []byte
	filled bool // false: it is copied unchanged
	shown  string
}

// file fills paragraphs: lines with the same indent between empty ones.
func (f *filler) file(in shell.Input) error {
	lines := 0 // of the paragraph so far
	err := cli.EachLine(in.Reader, '\n', func(raw []byte, _ bool) error {
		if err := f.poll.Err(); err != nil {
			return err
		}
		l := f.read(raw)
		if !l.filled {
			f.flush()
			lines = 0
			f.c.Stdout.Write(bytes.TrimRight(l.text, " \t"))
			f.c.Stdout.WriteByte('\n')
			return f.c.Stdout.Err()
		}
		if lines > 0 && !f.continues(l, lines) {
			f.flush()
			lines = 0
		}
		if lines == 0 {
			f.firstIndent, f.otherIndent, f.shown = l.indent, l.indent, l.shown
			if f.tagged {
				f.otherIndent = taggedIndent(l.indent)
			}
		} else if lines == 1 && (f.crown || f.tagged) {
			f.otherIndent = l.indent
		}
		lines++
		f.addWords(l.text)
		return f.c.Stdout.Err()
	})
	f.flush()
	return err
}

// taggedIndent returns the indent of the other lines of a one-line tagged paragraph.
func taggedIndent(first int) int {
	if first == 0 {
		return 3
	}
	return 0
}

func (f *filler) continues(l fmtLine, lines int) bool {
	switch {
	case f.split || l.shown != f.shown:
		return false
	case f.crown && lines == 1:
		return true
	case f.tagged && lines == 1:
		return l.indent != f.firstIndent
	}
	return l.indent == f.otherIndent
}

// read parses a line.
func (f *filler) read(raw []byte) fmtLine {
	indent, rest := measureIndent(raw)
	l := fmtLine{indent: indent, text: rest, filled: len(rest) > 0}
	if f.prefix == "" {
		if !l.filled {
			l.text = nil
		}
		return l
	}
	bare := strings.TrimSpace(f.prefix)
	after, ok := bytes.CutPrefix(rest, []byte(bare))
	if !ok {
		return fmtLine{text: raw}
	}
	l.shown = strings.Repeat(" ", min(indent, 1<<12)) + bare
	l.indent, l.text = measureIndent(after)
	if l.filled = len(l.text) > 0; !l.filled {
		l.text = raw
	}
	return l
}

func measureIndent(b []byte) (columns int, rest []byte) {
	for i, c := range b {
		switch c {
		case ' ':
			columns++
		case '\t':
			columns += 8 - columns%8
		default:
			return columns, b[i:]
		}
	}
	return columns, nil
}

// A paragraph that exceeds these limits is cut where it costs least.
const (
	maxFmtWords = 998
	maxFmtText  = 5000
)

func (f *filler) addWords(text []byte) {
	text = bytes.TrimLeft(text, " \t\n\v\f\r") // a line may begin with \v, which is not an indent
	for len(text) > 0 {
		n := bytes.IndexAny(text, " \t\n\v\f\r")
		if n < 0 {
			n = len(text)
		}
		if len(f.words) == maxFmtWords || len(f.words) > 0 && len(f.text)+n > maxFmtText {
			f.relieve()
		}
		w := classify(text[:n])
		w.start = len(f.text)
		f.text = append(f.text, text[:n]...)
		text = text[n:]
		rest := bytes.TrimLeft(text, " \t\n\v\f\r")
		w.space = len(text) - len(rest)
		w.final = w.period && (len(rest) == 0 || w.space > 1)
		if len(rest) == 0 || f.uniform {
			w.space = 1
			if w.final {
				w.space = 2
			}
		}
		f.words = append(f.words, w)
		text = rest
	}
}

// classify examines the ends of a word.
func classify(word []byte) fmtWord {
	w := fmtWord{length: len(word)}
	w.paren = strings.IndexByte("(['`\"", word[0]) >= 0
	last := word[len(word)-1]
	w.punct = last > ' ' && last < 0x7f && !cli.IsAlnum(last)
	core := bytes.TrimRight(word, `)]'"`)
	w.period = len(core) > 0 && strings.IndexByte(".?!", core[len(core)-1]) >= 0
	return w
}
