package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A syntax tree takes up to two hundred times the memory of its source. What it
// will take is estimated before anything is parsed, from bytes that can begin
// a node. Quotes and here-documents are not told apart from the rest, for they
// could be used to mislead: text in them counts as if it were commands.

// maxTree bounds the estimate of a tree's size, in bytes.
const maxTree = 26 << 20

// mendCost is what one more attempt to parse a script costs at least.
const mendCost = maxTree / 50

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
