package shell

import (
	"errors"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"hako/shell/pattern"
)

// maxCached bounds the caches: when one is full it starts over.
const maxCached = 512

// maxExpr bounds an expression that comes out of a variable: the parser calls
// itself for every parenthesis, and a script can make a value of any length.
const maxExpr = 8 << 10

// The caches hold pure functions of their keys, shared by all sessions.
var (
	patterns  = cache[patternKey, *pattern.Pattern]{}
	exprs     = cache[string, syntax.ArithmExpr]{}
	textParts = cache[string, []syntax.WordPart]{}
)

// A cache keeps up to maxCached values.
type cache[K comparable, V any] struct {
	mu sync.Mutex
	m  map[K]V
}

func (c *cache[K, V]) get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.m[key]
	return v, ok
}

func (c *cache[K, V]) put(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCached {
		c.m = map[K]V{}
	}
	c.m[key] = v
}

type patternKey struct {
	src  string
	mode pattern.Mode
}

// compilePattern returns a compiled pattern.
func compilePattern(src string, mode pattern.Mode, check func(work int) bool) *pattern.Pattern {
	key := patternKey{src, mode}
	if p, ok := patterns.get(key); ok {
		return p
	}
	if len(src) > 1024 {
		return pattern.CompileUnder(src, mode, check) // not worth keeping
	}
	p := pattern.Compile(src, mode)
	patterns.put(key, p)
	return p
}

// parseExpr parses arithmetic that comes out of variables.
func parseExpr(s string) (syntax.ArithmExpr, error) {
	if x, ok := exprs.get(s); ok {
		return x, nil
	}
	if len(s) > maxExpr {
		return nil, errors.New("expression too long")
	}
	x, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Arithmetic(strings.NewReader(s))
	if err != nil {
		return nil, err
	}
	if x != nil && int(x.End().Offset()) < len(strings.TrimRight(s, " \t\n")) {
		return nil, errors.New("something follows the expression") // "3 4"
	}
	exprs.put(s, x)
	return x, nil
}

// printNode returns a piece of the tree as source, for messages.
func printNode(n syntax.Node) string {
	var b strings.Builder
	if x, ok := n.(syntax.ArithmExpr); ok {
		if _, word := n.(*syntax.Word); !word {
			n = &syntax.ArithmExp{Left: x.Pos(), X: x, Right: x.End()} // on one line
			_ = syntax.NewPrinter().Print(&b, &syntax.Word{Parts: []syntax.WordPart{n.(*syntax.ArithmExp)}})
			return strings.TrimSuffix(strings.TrimPrefix(b.String(), "$(("), "))")
		}
	}
	if part, ok := n.(syntax.WordPart); ok {
		n = &syntax.Word{Parts: []syntax.WordPart{part}}
	}
	_ = syntax.NewPrinter().Print(&b, n)
	return b.String()
}

func printWord(w *syntax.Word) string { return printNode(w) }
