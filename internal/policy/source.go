package policy

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"hako/internal/fault"
)

// MaxScript is the size of the largest script that is parsed.
const MaxScript = 1 << 20

// maxFrames bounds how deep the parser may call itself; that is some five
// hundred levels of nesting.
const maxFrames = 4000

var errTooDeep = errors.New("nested too deeply")

// parsers are reused because one holds two kilobytes of buffers.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// ParseScript parses shell source the one way everybody here does: as bash,
// at most a megabyte, nested at most some five hundred levels.
func ParseScript(src string) (*syntax.File, error) {
	if len(src) > MaxScript {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "parse script",
			Why: fmt.Sprintf("it has %d bytes, at most %d are read", len(src), MaxScript), Hint: "put the data into a file and the commands into the script"}
	}
	f, err := parse(src)
	for tries := 0; err != nil && tries < maxMends; tries++ {
		mended := mend(src, err)
		if mended == "" {
			break
		}
		again, err2 := parse(mended)
		if err2 != nil && !further(err2, err) {
			break
		}
		src, f, err = mended, again, err2
	}
	if err != nil {
		return nil, parseFault(err)
	}
	return f, nil
}

// maxMends bounds how often one script is mended and parsed again.
const maxMends = 50

// further reports whether the parser got further than before.
func further(now, before error) bool {
	a, ok1 := offset(now)
	b, ok2 := offset(before)
	return ok1 && ok2 && a > b+len(`""`) // the quotes themselves are no progress
}

func parse(src string) (*syntax.File, error) {
	var r io.Reader = strings.NewReader(src)
	if couldBeDeep(src) {
		r = &depthReader{text: src}
	}
	p := parsers.Get().(*syntax.Parser)
	f, err := p.Parse(r, "")
	if err == nil {
		parsers.Put(p)
	}
	return f, err
}

func parseFault(err error) error {
	if errors.Is(err, errTooDeep) {
		return &fault.Error{Kind: fault.TooLarge, Op: "parse script",
			Why: "it is nested more than about 500 levels deep", Hint: "split it into several scripts or functions"}
	}
	e := &fault.Error{Kind: fault.Invalid, Op: "parse script", Why: err.Error(), Hint: "quote text that is not meant as shell syntax"}
	if syntax.IsIncomplete(err) {
		e.Hint = "close what is still open: a quote, a bracket, or an if, for, while or case without its end"
	}
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.As(err, &pe):
		e.Subject, e.Why = fmt.Sprintf("%d:%d", pe.Pos.Line(), pe.Pos.Col()), strings.ReplaceAll(pe.Text, "foo(", "NAME(") // a function, as the parser imagines one
	case errors.As(err, &le):
		e.Subject = fmt.Sprintf("%d:%d", le.Pos.Line(), le.Pos.Col())
		e.Why = strings.TrimPrefix(e.Why, e.Subject+": ")
	}
	return e
}

// couldBeDeep counts everything that can open a level, quoted or not. Most
// scripts have few and need no further thought.
func couldBeDeep(src string) bool {
	n := 0
	for i := 0; i < len(src); i++ {
		switch src[i] {
		case '(', '{', '[', '`', '!', '-', '+', '~', '?', ':', '=', '<', '>':
			n++
		case 'f', 'o', 'e': // the ends of if, for, do, while, case, time
			if i+1 == len(src) || src[i+1] <= ' ' || src[i+1] == ';' {
				n++
			}
		case 'n', 'l', 'c': // then, function, until, coproc
			if i+1 < len(src) && src[i+1] <= ' ' {
				n++
			}
		}
	}
	return n > 400
}

// A depthReader feeds the parser in small pieces and looks, at each, how deep
// the parser has called itself. Counting brackets in the text could be misled
// by quotes and comments; the stack can not.
type depthReader struct {
	text string
	pcs  [maxFrames]uintptr
}

func (r *depthReader) Read(b []byte) (int, error) {
	if runtime.Callers(0, r.pcs[:]) == maxFrames {
		return 0, errTooDeep
	}
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 256)], r.text)
	r.text = r.text[n:]
	return n, nil
}
