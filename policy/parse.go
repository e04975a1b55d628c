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
		spent += size + repairCost
		if mended == "" || spent > maxTree {
			break
		}
		again, err2 := parse(mended)
		if err2 != nil && !gotFurther(err2, err) {
			break
		}
		src, f, err = mended, again, err2
	}
	if err != nil {
		return nil, parseFault(err)
	}
	return f, nil
}

// gotFurther reports whether the parser got further than before.
func gotFurther(now, before error) bool {
	a, ok1 := offset(now)
	b, ok2 := offset(before)
	return ok1 && ok2 && a > b+len(`""`) // the quotes themselves are no progress
}

func parse(src string) (*syntax.File, error) {
	p := parsers.Get().(*syntax.Parser)
	f, err := p.Parse(depthLimited(src), "")
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
func depthLimited(src string) io.Reader {
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

// repairQuotes helps the parser over two forms that bash takes and it does not:
// arithmetic whose operators come out of variables, $((3 $op 4)), and array
// subscripts that are no arithmetic, m[a.b]. Bash reads both only when they
// are evaluated; quoting the inside says the same to the parser, and the
// interpreter evaluates the quoted text. It returns the changed source, or ""
// if the error is of another kind.
func repairQuotes(src string, err error) string {
	at, ok := offset(err)
	if !ok || at > len(src) {
		return ""
	}
	if from, to, ok := arithmAround(src, at); ok {
		return quoteInside(src, from, to)
	}
	if from, to, ok := subscriptAround(src, at); ok {
		return quoteInside(src, from, to)
	}
	return ""
}

// offset returns where the parser gave up.
func offset(err error) (int, bool) {
	var pe syntax.ParseError
	var le syntax.LangError
	switch {
	case errors.As(err, &pe):
		return int(pe.Pos.Offset()), true
	case errors.As(err, &le):
		return int(le.Pos.Offset()), true
	}
	return 0, false
}

// quoteInside puts double quotes around src[from:to], unless quotes or
// substitutions in it would come to mean something else.
func quoteInside(src string, from, to int) string {
	inside := src[from:to]
	if strings.TrimSpace(inside) == "" || strings.ContainsAny(inside, "\"'`\\\n") || strings.Contains(inside, "$(") {
		return ""
	}
	return src[:from] + `"` + inside + `"` + src[to:]
}

// arithmAround returns the inside of the $((…)) that the error is in.
func arithmAround(src string, at int) (from, to int, ok bool) {
	open := strings.LastIndex(src[:at], "$((")
	if open < 0 {
		return 0, 0, false
	}
	from = open + len("$((")
	depth := 0
	for i := from; i < len(src); i++ {
		switch src[i] {
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return from, i, i >= at && strings.HasPrefix(src[i:], "))")
			}
			depth--
		case '\n':
			return 0, 0, false
		}
	}
	return 0, 0, false
}

// subscriptAround returns the inside of the NAME[…], or of the […]= of an array
// literal, that the error is in.
func subscriptAround(src string, at int) (from, to int, ok bool) {
	open := strings.LastIndexByte(src[:at], '[')
	if open < 1 {
		return 0, 0, false
	}
	n := strings.IndexAny(src[open+1:], "]\n")
	close := open + 1 + n
	if n < 0 || src[close] == '\n' || close < at {
		return 0, 0, false
	}
	literal := (src[open-1] == '(' || src[open-1] == ' ') && strings.HasPrefix(src[close:], "]=")
	return open + 1, close, literal || isNameByte(src[open-1])
}

// A syntax tree takes up to two hundred times the memory of its source. What it
// will take is estimated before anything is parsed, from bytes that can begin
// a node. Quotes and here-documents are not told apart from the rest, for they
// could be used to mislead: text in them counts as if it were commands.

// maxTree bounds the estimate of a tree's size, in bytes.
const maxTree = 26 << 20

// repairCost is what one more attempt to parse a script costs at least.
const repairCost = maxTree / 50

// What a byte may add to the tree, in bytes.
const (
	wordSize   = 80  // the first of a word
	elemSize   = 200 // the first of a word that may be an element of an array
	stmtSize   = 230 // one that ends a statement, or begins one inside another
	paramSize  = 230 // one that begins an expansion
	quoteSize  = 75  // one of two quotes
	arithSize  = 130 // an operator of arithmetic
	redirSize  = 130 // a redirection
	assignSize = 100 // an assignment
)

// nodeSizes says what each byte may add by itself.
var nodeSizes = sizesOf(";&|\n", stmtSize, "(", stmtSize/2, "$`", paramSize, `"'`, quoteSize, "<>", redirSize, "=",
	assignSize)

// arithSizes says what each byte may add where there is arithmetic.
var arithSizes = sizesOf("+-*/%,?:=^!~&|<>", arithSize)

func sizesOf(pairs ...any) (t [256]int) {
	for i := 0; i < len(pairs); i += 2 {
		for _, b := range []byte(pairs[i].(string)) {
			t[b] = pairs[i+1].(int)
		}
	}
	return t
}

// endsWord says after which bytes a word may begin.
var endsWord = func() (t [256]bool) {
	for _, b := range []byte(" \t\r\n;&|()<>`") {
		t[b] = true
	}
	return t
}()

// treeSize estimates the size of the tree that a script becomes.
func treeSize(src string) int {
	arithmetic := hasArithmetic(src)
	word := wordSize
	if strings.Contains(src, "=(") {
		word = elemSize
	}
	size, between := 0, true
	last := byte('\n')
	for i := 0; i < len(src); i++ {
		b := src[i]
		if b != last || b != '\n' { // empty lines are nothing
			size += nodeSizes[b]
		}
		if arithmetic {
			size += arithSizes[b]
		}
		if between && !endsWord[b] {
			size += word
		}
		between, last = endsWord[b], b
	}
	return size
}

// hasArithmetic reports whether anything in a script may be arithmetic.
func hasArithmetic(src string) bool {
	for _, opens := range []string{"((", "[", "${", "let"} {
		if strings.Contains(src, opens) {
			return true
		}
	}
	return false
}

// maxTreeDepth bounds how deep a tree is: long lists of commands, long sums and
// long chains of elif are parsed without recursion but into a tree that is as deep as they are long.
const maxTreeDepth = 5000

// tooDeep reports whether a tree is deeper than those who walk it can go.
func tooDeep(f *syntax.File, src string) bool {
	if len(src) < maxTreeDepth {
		return false
	}
	depth, deep := 0, false
	syntax.Walk(f, func(n syntax.Node) bool {
		if n == nil {
			depth--
			return true
		}
		deep = deep || depth >= maxTreeDepth
		if deep {
			return false
		}
		depth++
		return true
	})
	return deep
}
