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
	"hako/shell/bashsyntax"
)

// maxScript is the size of the largest script that is parsed.
const maxScript = 1 << 20

// maxFrames bounds the recursion of the parser, at some five hundred levels of nesting.
const maxFrames = 4000

// maxComments bounds consecutive lines of comment, for each of which the parser recurses.
const maxComments = 8000

var errTooDeep = errors.New("nested too deeply")

// parsers are reused, since each has two kilobytes of buffers.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// ParseScript parses shell source as bash. The source has at most a megabyte and some five hundred levels of
// nesting. All parts of hako use this function, so that what is judged is what runs.
func ParseScript(src string) (*syntax.File, error) {
	if len(src) > maxScript {
		return nil, &fault.Error{Kind: fault.TooLarge, Op: "parse script",
			Why:  fmt.Sprintf("it has %d bytes, at most %d are read", len(src), maxScript),
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
	return bashsyntax.Correct(f), nil
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

// depthLimited returns a reader of src that fails when the parser recurses too deeply.
func depthLimited(src string) io.Reader {
	if len(src) < maxShallow {
		return strings.NewReader(src)
	}
	return &depthReader{text: src}
}

// maxShallow is the size up to which a script cannot be nested too deeply: the parser recurses only a few times
// for each byte.
const maxShallow = 400

// A depthReader feeds the parser in small pieces and checks the depth of the stack at each. Counting brackets
// could be misled by quotes and comments; the stack cannot.
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

// frames counts the frames of the stack; -1 means too many.
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

// comments counts the frames that consecutive comments add.
func comments(pcs []uintptr) int {
	n := 0
	for i := 1; i < len(pcs); i++ {
		if pcs[i] == pcs[i-1] && strings.HasSuffix(runtime.FuncForPC(pcs[i]).Name(), "(*Parser).next") {
			n++
		}
	}
	return n
}

// repairQuotes quotes two forms that bash accepts and the parser does not: arithmetic with operators in
// variables, $((3 $op 4)), and subscripts that are not arithmetic, m[a.b]. Bash parses both only on evaluation,
// and so does the interpreter with the quoted text. It returns the changed source, or "" for any other error.
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

// offset returns the position of a parse error.
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

// quoteInside quotes src[from:to], unless quoting changes the meaning of quotes or substitutions in it.
func quoteInside(src string, from, to int) string {
	inside := src[from:to]
	if strings.TrimSpace(inside) == "" || strings.ContainsAny(inside, "\"'`\\\n") || strings.Contains(inside, "$(") {
		return ""
	}
	return src[:from] + `"` + inside + `"` + src[to:]
}

// arithmAround returns the inside of the $((…)) that contains the error.
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

// subscriptAround returns the inside of the NAME[…], or of the […]= of an array literal, that contains the error.
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

// A syntax tree takes up to two hundred times the memory of its source. Its size is estimated before parsing, from the
// bytes that can begin a node. Text in quotes and here-documents counts as if it were commands, since quotes could be
// used to mislead the estimate.

// maxTree bounds the estimate of a tree's size, in bytes.
const maxTree = 26 << 20

// repairCost is the minimal cost of another attempt to parse a script.
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

// nodeSizes has what each byte may add by itself.
var nodeSizes = sizesOf(";&|\n", stmtSize, "(", stmtSize/2, "$`", paramSize, `"'`, quoteSize, "<>", redirSize, "=",
	assignSize)

// arithSizes has what each byte may add in arithmetic.
var arithSizes = sizesOf("+-*/%,?:=^!~&|<>", arithSize)

func sizesOf(pairs ...any) (t [256]int) {
	for i := 0; i < len(pairs); i += 2 {
		for _, b := range []byte(pairs[i].(string)) {
			t[b] = pairs[i+1].(int)
		}
	}
	return t
}

// endsWord has the bytes after which a word may begin.
var endsWord = func() (t [256]bool) {
	for _, b := range []byte(" \t\r\n;&|()<>`") {
		t[b] = true
	}
	return t
}()

// treeSize estimates the size of the tree of a script.
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

// hasArithmetic reports whether a script may contain arithmetic.
func hasArithmetic(src string) bool {
	for _, opens := range []string{"((", "[", "${", "let"} {
		if strings.Contains(src, opens) {
			return true
		}
	}
	return false
}

// maxTreeDepth bounds the depth of a tree. Long lists, sums and chains of elif are parsed without recursion, but
// into a tree that is as deep as they are long.
const maxTreeDepth = 5000

// tooDeep reports whether a tree is too deep to be walked.
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
