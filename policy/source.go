package policy

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"hako/run/fault"
)

// MaxScript is the size of the largest script that is parsed.
const MaxScript = 1 << 20

// maxFrames bounds how deep the parser may call itself; that is some five
// hundred levels of nesting.
const maxFrames = 4000

// maxComments bounds the lines of comment in a row, for each of which the parser
// calls itself once more.
const maxComments = 8000

var errTooDeep = errors.New("nested too deeply")

// parsers are reused because one holds two kilobytes of buffers.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// ParseScript parses shell source the one way everybody here does: as bash,
// at most a megabyte, nested at most some five hundred levels.
func ParseScript(src string) (*syntax.File, error) {
	if len(src) > MaxScript {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "parse script",
			Why:  fmt.Sprintf("it has %d bytes, at most %d are read", len(src), MaxScript),
			Hint: "put the data into a file and the commands into the script"}
	}
	size := treeSize(src)
	if size > maxTree {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "parse script",
			Why:  "it has too many words, commands and expansions: some 300,000 words or 80,000 commands are read at most",
			Hint: "split it into several scripts, or put the data into a file"}
	}
	f, err := parse(src)
	for spent := size; err != nil; {
		mended := repairQuotes(src, err)
		spent += size + mendCost
		if mended == "" || spent > maxTree {
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

// further reports whether the parser got further than before.
func further(now, before error) bool {
	a, ok1 := offset(now)
	b, ok2 := offset(before)
	return ok1 && ok2 && a > b+len(`""`) // the quotes themselves are no progress
}

func parse(src string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	f, err := p.Parse(watched(src), "")
	if err != nil {
		return f, err
	}
	parsers.Put(p)
	if tooDeep(f, src) {
		return nil, errTooDeep
	}
	return f, nil
}

func parseFault(err error) error {
	if errors.Is(err, errTooDeep) {
		return &fault.Error{Kind: fault.TooLarge, Op: "parse script",
			Why: fmt.Sprintf("it is nested more than about 500 levels deep, joins too many commands in one list, or has %d lines of comment in a row", maxComments), Hint: "split it into several scripts or functions"}
	}
	e := &fault.Error{Kind: fault.Invalid, Op: "parse script", Why: err.Error(),
		Hint: "quote text that is not meant as shell syntax"}
	if syntax.IsIncomplete(err) {
		e.Hint = "close what is still open: a quote, a bracket, or an if, for, while or case without its end"
	}
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.As(err, &pe):
		e.Subject, e.Why = fmt.Sprintf("%d:%d", pe.Pos.Line(), pe.Pos.Col()),
			strings.ReplaceAll(pe.Text, "foo(", "NAME(") // a function, as the parser imagines one
	case errors.As(err, &le):
		e.Subject = fmt.Sprintf("%d:%d", le.Pos.Line(), le.Pos.Col())
		e.Why = strings.TrimPrefix(e.Why, e.Subject+": ")
	}
	return e
}

// callback returns source for the parser to read that ends where the parser has
// called itself too often.
func watched(src string) io.Reader {
	if len(src) < maxShallow {
		return strings.NewReader(src)
	}
	return &depthReader{text: src}
}

// maxShallow is the size up to which a script cannot be nested too deeply: the
// parser calls itself a few times for each byte at most.
const maxShallow = 400

// A depthReader feeds the parser in small pieces and looks, at each, how deep
// the parser has called itself. Counting brackets in the text could be misled
// by quotes and comments; the stack cannot.
type depthReader struct {
	text string
	pcs  []uintptr
	skip int // reads until the next look
}

func (r *depthReader) Read(b []byte) (int, error) {
	if r.skip--; r.skip < 0 {
		frames := r.frames()
		if frames < 0 {
			return 0, errTooDeep
		}
		r.skip = frames / 1000 // the more there are, the longer it takes to count them
	}
	if r.text == "" {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), 512)], r.text)
	r.text = r.text[n:]
	return n, nil
}

// frames counts the calls that are under way, or returns -1 for too many.
func (r *depthReader) frames() int {
	if r.pcs == nil {
		r.pcs = make([]uintptr, 256)
	}
	for {
		n := runtime.Callers(0, r.pcs)
		if n < len(r.pcs) {
			if n > maxFrames && n-comments(r.pcs[:n]) > maxFrames {
				return -1
			}
			return n
		}
		if len(r.pcs) > maxFrames+maxComments {
			return -1
		}
		r.pcs = make([]uintptr, 2*len(r.pcs))
	}
}

// comments counts the calls that are those of a comment behind a comment.
func comments(pcs []uintptr) int {
	n := 0
	for i := 1; i < len(pcs); i++ {
		if pcs[i] == pcs[i-1] && strings.HasSuffix(runtime.FuncForPC(pcs[i]).Name(), "(*Parser).next") {
			n++
		}
	}
	return n
}
