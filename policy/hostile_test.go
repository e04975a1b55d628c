package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// Scripts that are made to hurt whoever reads them end soon and with an
// error, whatever they are made of.
func TestHostileSource(t *testing.T) {
	deep := map[string]string{
		"parentheses":   strings.Repeat("(", 20000) + ":" + strings.Repeat(")", 20000),
		"unclosed":      strings.Repeat("( ", 60000),
		"braces":        strings.Repeat("{ ", 20000) + ":" + strings.Repeat(";}", 20000),
		"substitutions": "echo " + strings.Repeat("$(", 20000) + ":" + strings.Repeat(")", 20000),
		"quoted":        "echo " + strings.Repeat(`"$(echo `, 20000) + strings.Repeat(`)"`, 20000),
		"arithmetic":    "echo $((" + strings.Repeat("(", 20000) + "1" + strings.Repeat(")", 20000) + "))",
		"parameters":    "echo " + strings.Repeat("${x:-", 20000) + strings.Repeat("}", 20000),
		"ifs":           strings.Repeat("if ", 20000) + ":" + strings.Repeat("; then :; fi", 20000),
		"loops":         strings.Repeat("while :; do ", 20000) + ":" + strings.Repeat("; done", 20000),
		"not":           "((" + strings.Repeat("! ", 20000) + "1))",
		"tests":         "[[ " + strings.Repeat("( ", 20000) + "a" + strings.Repeat(" )", 20000) + " ]]",
		"cases":         strings.Repeat("case x in x) ", 20000) + ":" + strings.Repeat(";; esac", 20000),
		"hidden":        strings.Repeat("(: ')' # )\n", 20000) + strings.Repeat(")", 20000),
		"subscripts":    "echo $((" + strings.Repeat("a[", 20000) + "1" + strings.Repeat("]", 20000) + "))",
		"functions":     strings.Repeat("f() { ", 20000) + ":" + strings.Repeat("; }", 20000),
	}
	for name, src := range deep {
		start := time.Now()
		_, err := ParseScript(src)
		if k := fault.KindOf(err); k != fault.TooLarge && k != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if d := time.Since(start); d > testload.Bound(2*time.Second) {
			t.Errorf("%s took %v", name, d)
		}
	}
	if _, err := ParseScript(strings.Repeat("( ", 300) + ":" + strings.Repeat(")", 300)); err != nil {
		t.Errorf("300 levels: %v", err)
	}
	if _, err := ParseScript(strings.Repeat("#", maxScript+1)); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("too long: %v", err)
	}
}

func TestHostileWalk(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	var vars strings.Builder
	for i := range 8000 {
		fmt.Fprintf(&vars, "v%d=x; true | true && true\n", i)
	}
	nest := strings.Repeat("for i in 1 2 3 4 5 6 7 8; do ", 40) + "echo $i" + strings.Repeat("; done", 40)
	fib := "f() { f $1 a; f $1 b; f $1 c; }; f x"
	big := strings.Repeat("echo a b c d; x=$x$x\n", 20000)
	wide := map[string]string{
		"list":      "true" + strings.Repeat(" && true", 30000),
		"pipe":      "true" + strings.Repeat(" | true", 30000),
		"variables": vars.String(),
		"nest":      nest,
		"fib":       fib,
		"doubling":  "x=aaaaaaaa " + strings.Repeat("; x=$x$x", 30000),
		"braces":    "echo " + strings.Repeat("{a,b}", 60000),
		"nested":    "echo " + strings.Repeat("{a,", 400) + strings.Repeat("}", 400),
		"sequence":  "echo {1..300000000}",
		"words":     "x='a b c d e f g h'; echo" + strings.Repeat(" $x", 100000),
		"body":      "for i in 1 2 3 4 5 6 7 8 9 10; do\nfor j in 1 2 3 4 5 6 7 8 9 10; do\n" + big + "done\ndone",
		"call body": "f() {\n" + big + "}\n" + strings.Repeat("f\n", 20000),
		"denied":    strings.Repeat("nonesuch x\n", 20000),
		"arrays":    "a=(" + strings.Repeat("x ", 60000) + "); echo \"${a[@]}\" \"${a[@]}\"",
		"sum":       "echo $((1" + strings.Repeat("+1", 60000) + "))",
		"elifs":     "if a; then :" + strings.Repeat("; elif a; then :", 20000) + "; fi",
	}
	for name, src := range wide {
		for _, p := range []*Policy{hostPolicy(), Default("virtual", Options{})} {
			start := time.Now()
			_, err := p.Script(src)
			if d := time.Since(start); d > testload.Bound(10*time.Second) {
				t.Errorf("%s under %s took %v (%v)", name, p.Profile(), d, err)
			} else if d > testload.Bound(time.Second) {
				t.Logf("%s under %s took %v (%v)", name, p.Profile(), d, err)
			}
		}
	}
}
