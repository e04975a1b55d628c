package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"hako/audit"
	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/testload"
	"hako/internal/worker"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
)

// Variables that set for how long random programs are tried, and the seed that makes them.
const (
	programTime = "HAKO_PROGRAM_TIME"
	programSeed = "HAKO_RANDOM_SEED"
)

// TestRandomPrograms has workers run and judge programs that are made at random,
// for a few seconds, or for as long as HAKO_PROGRAM_TIME says. Whatever they do,
// a limit must end them: a worker that is lost is a limit that did not hold.
func TestRandomPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("long: takes ten seconds")
	}
	lasts := 10 * time.Second
	if text := os.Getenv(programTime); text != "" {
		var err error
		if lasts, err = time.ParseDuration(text); err != nil {
			t.Fatal(err)
		}
	}
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv(programSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("seed %d", seed)
	g := &programs{rand.New(rand.NewPCG(seed, 1))}
	w := newProgramRunner(t)
	var tried int
	var worst time.Duration
	for end := time.Now().Add(lasts); time.Now().Before(end); tried++ {
		script := g.script()
		took := w.try(t, script)
		worst = max(worst, took)
		if t.Failed() {
			t.Fatalf("after %d programs: %s", tried, script)
		}
	}
	t.Logf("%d programs, the slowest took %v", tried, worst)
}

// A programRunner is a sandbox in a worker, and a judge.
type programRunner struct {
	pool *worker.Pool
	box  *worker.Handle
}

const programLimit = 300 * time.Millisecond

func newProgramRunner(t *testing.T) *programRunner {
	t.Helper()
	conf, err := config.Load(config.Source{NoFile: true})
	for _, l := range [][2]string{{"limits.time", programLimit.String()}, {"limits.memory", "64MB"}} {
		if err == nil {
			err = conf.Set(l[0], "--limit", l[1])
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	pool, err := app.StartWorkers(conf, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	w := &programRunner{pool: pool}
	w.box, err = pool.Open(t.Context(), "test", worker.OpenOptions{Spec: app.SandboxSpec{}},
		worker.Services{Log: discardLog{}, Budget: quota.New(quota.Unlimited())})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// discardLog is a record that nobody keeps.
type discardLog struct{}

func (discardLog) Append(audit.Event) error { return nil }

// try judges a program and runs it.
func (w *programRunner) try(t *testing.T, script string) time.Duration {
	t.Helper()
	began := time.Now()
	err := w.pool.Judge(t.Context(), app.JudgeRequest{Profile: "host", Script: script}, nil)
	if fault.KindOf(err) == fault.Denied { // a verdict is no error: this one lost its judge, or its patience
		t.Errorf("judging: %v", err)
	}
	if took := time.Since(began); took > testload.Bound(10*time.Second) {
		t.Errorf("judging took %v", took)
	}
	began = time.Now()
	_, err = w.box.Run(t.Context(), &run.Request{Actor: "test", Script: script})
	took := time.Since(began)
	if took > programLimit+10*time.Second || fault.KindOf(err) == fault.Other && err != nil {
		t.Errorf("after %v: %v", took, err)
	}
	if _, err := w.box.Run(t.Context(),
		&run.Request{Actor: "test", Script: "unset -f $(declare -F | cut -d' ' -f3); true"}); err != nil {
		t.Errorf("the worker is lost: %v", err)
	}
	return took
}

// programs makes them.
type programs struct{ *rand.Rand }

func (g *programs) one(of ...string) string { return of[g.IntN(len(of))] }

// number is small, or large enough to hurt.
func (g *programs) number() string {
	return g.one("0", "1", "2", "3", "-1", "10", "100", "1000", "100000", "10000000", "1e9", "0.5",
		strconv.Itoa(g.IntN(1000)))
}

func (g *programs) script() string {
	switch g.IntN(5) {
	case 0:
		return "jq -n " + quoteWord(g.jq(4))
	case 1:
		return "seq 20 | awk " + quoteWord(g.awk())
	case 2:
		return g.assignments() + "echo $((" + g.arithmetic(5) + "))"
	case 3:
		return g.patterns()
	}
	return g.shell(4)
}

func quoteWord(s string) string {
	q, err := syntax.Quote(s, syntax.LangBash)
	if err != nil {
		return "''"
	}
	return q
}

func (g *programs) jq(depth int) string {
	if depth == 0 {
		return g.one(".", ".a", "$n", "[]", "{}", "null", `"xyz"`, g.number(), "empty", "..", ".[]", "input")
	}
	e := func() string { return g.jq(depth - 1) }
	switch g.IntN(24) {
	case 0:
		return "[" + e() + "]"
	case 1:
		return "{a:" + e() + "}"
	case 2, 3:
		return "(" + e() + "|" + e() + ")"
	case 4:
		return "(" + e() + "," + e() + ")"
	case 5:
		return "range(" + g.number() + ")"
	case 6:
		return "[range(" + g.number() + ")]"
	case 7:
		return "def f: " + e() + "; f"
	case 8:
		return "def f(x; $n): if $n==0 then x else f(" + g.one("x|x", "x,x", "[x]", "x+x") + "; $n-1) end; f(" + e() + ";" +
			g.one("3", "10", "20", "60") + ")"
	case 9:
		return "reduce " + e() + " as $n (" + e() + "; . as $x | " + e() + ")"
	case 10:
		return "foreach range(" + g.number() + ") as $n (0; .+1; " + e() + ")"
	case 11:
		return "limit(" + g.number() + "; " + e() + ")"
	case 12:
		return "first(" + e() + ")"
	case 13:
		return "(" + e() + "|" + g.one("tojson", "tojson|fromjson", "length", "add", "sort", "unique", "reverse", "keys",
			"to_entries", "flatten", "tostring", "ascii", "implode", "explode", "@base64", "@base64d", "@json", "transpose",
			"paths", "leaf_paths", "any", "all", "min", "max", "group_by(.)", "combinations", "walk(.)", "recurse", "env",
			"halt", "splits(\"x\")", "test(\"(x+)+y\")", "[match(\"x*\";\"g\")]", "gsub(\"x\";\"xx\")", "gsub(\"\";\"a\")",
			"ascii_downcase", "ltrimstr(\"x\")", "indices(\"x\")") + ")"
	case 14:
		return "(" + e() + g.one("+", "-", "*", "/", "%", " and ", " or ", "==", "<", "//") + e() + ")"
	case 15:
		return `("x"*` + g.number() + ")"
	case 16:
		return "try (" + e() + ") catch (" + e() + ")"
	case 17:
		return "label $out | (" + e() + ", break $out)"
	case 18:
		return "repeat(" + e() + ")"
	case 19:
		return "[" + e() + "|recurse(if . == 5 then empty else " + e() + " end)]"
	case 20:
		return "until(" + e() + "; " + e() + ")"
	case 21:
		return "(" + e() + " as [$n, $m] | " + e() + ")"
	case 22:
		return "getpath([" + e() + "])"
	}
	return "if " + e() + " then " + e() + " else " + e() + " end"
}

func (g *programs) awk() string {
	var b strings.Builder
	b.WriteString("function f(x, n) { " + g.awkStatement(2) + "; " + g.one("return x", "return f(x x, n-1)",
		"return f(f(x, n-1), n-1)", "if (n > 0) return f(x, n-1) f(x, n-1)") + " }\n")
	b.WriteString(g.one("BEGIN", "END", "", "/[0-9]*1/", "NR % 2") + " {")
	for range 1 + g.IntN(4) {
		b.WriteString(g.awkStatement(3) + "; ")
	}
	return b.String() + "}"
}

func (g *programs) awkStatement(depth int) string {
	if depth == 0 {
		return g.one("x = "+g.awkExpr(2), "a["+g.awkExpr(1)+"] = "+g.awkExpr(1), "print "+g.awkExpr(2), "n++",
			"$"+g.number()+" = "+g.awkExpr(1), "NF = "+g.number(), "getline", "delete a", "next")
	}
	s := func() string { return g.awkStatement(depth - 1) }
	return g.one(
		"while ("+g.awkExpr(2)+") { "+s()+" }", "for (i = 0; i < "+g.number()+"; i++) { "+s()+" }",
		"for (k in a) { "+s()+" }",
		"if ("+g.awkExpr(2)+") { "+s()+" } else { "+s()+" }", "do { "+s()+" } while ("+g.awkExpr(1)+")", s(), s(),
		"{ "+s()+"; "+s()+" }")
}

func (g *programs) awkExpr(depth int) string {
	if depth == 0 {
		return g.one("x", "n", "$0", "$1", "NR", g.number(), `"ab"`, "a[x]", "x", "/a*b/")
	}
	e := func() string { return g.awkExpr(depth - 1) }
	return g.one(
		"("+e()+" "+e()+")", "("+e()+g.one("+", "-", "*", "/", "^", "%", "<", "==", "~", "&&", "||")+e()+")",
		"f("+e()+", "+g.one("3", "10", "30", "1000000")+")",
		"sprintf("+quoteAwk(g.one("%s", "%d", "%100s", "%10000000d", "%c", "%.1000000f"))+", "+e()+")",
		"substr("+e()+", "+e()+")", "length("+e()+")",
		"gsub("+g.one("/a/", "/x*/", "/./")+", "+e()+")", "split("+e()+", a, "+g.one(`""`, `","`, "/a*/")+")",
		"index("+e()+", "+e()+")", "toupper("+e()+")",
		"asort(a)", "strtonum("+e()+")", "match("+e()+", /(a|b)*c/)", "int("+e()+")", "(x = x x)",
		"("+e()+" ? "+e()+" : "+e()+")", "strftime("+e()+")", "!"+e(), "-"+e())
}

func quoteAwk(s string) string { return `"` + s + `"` }

// assignments make variables that refer to each other.
func (g *programs) assignments() string {
	var b strings.Builder
	for range g.IntN(5) {
		fmt.Fprintf(&b, "%s=%s; ", g.one("a", "b", "c", "a[0]", "b[c]"), quoteWord(g.arithmetic(3)))
	}
	return b.String()
}

func (g *programs) arithmetic(depth int) string {
	if depth == 0 {
		return g.one("a", "b", "c", "a[a]", "b[a]", "1", "2", "7", "9999999999", "0x7fffffffffffffff", "36#z", "-1")
	}
	e := func() string { return g.arithmetic(depth - 1) }
	return g.one(
		e()+g.one("+", "-", "*", "/", "%", "**", "<<", ">>", "&", "|", "^", "<", "==", "&&", "||", ",")+e(), "("+e()+")",
		e()+"?"+e()+":"+e(),
		g.one("a", "b", "c", "a[b]")+g.one("=", "+=", "*=", "<<=")+e(), "!"+e(), "-"+e(), g.one("a++", "++b", "c--"),
		"a["+e()+"]")
}

// patterns matches long texts against nested patterns.
func (g *programs) patterns() string {
	text, pattern := g.one("a", "ab", "aab", "[", "*", "\\"), g.pattern(4)
	double := g.IntN(18)
	return fmt.Sprintf("shopt -s extglob; x=%s p=%s; for i in $(seq %d); do x=$x$x; done; for i in $(seq %d); do p=$p$p; done; %s", quoteWord(text), quoteWord(pattern), double, g.IntN(6),
		g.one(`[[ $x == $p ]]`, `case $x in $p) ;; esac`, `y=${x//$p/z}`, `y=${x##$p}`, `y=${x%%$p}`, `y=${x#$p}`, `y=${x^^}`,
			`y=${x@Q}`, `[[ $x =~ $p ]]`, `[[ $x == $x ]]`, `y=${x/#$p/z}`, `set -- $x$p`, `echo $p`))
}

func (g *programs) pattern(depth int) string {
	if depth == 0 {
		return g.one("a", "b", "*", "?", "[a-z]", "[!b]", "[[:alpha:]]", "[", "\\", "()", "+", "**")
	}
	e := func() string { return g.pattern(depth - 1) }
	return g.one(e()+e(), "+("+e()+")", "*("+e()+"|"+e()+")", "!("+e()+")", "@("+e()+"|"+e()+")", "?("+e()+")",
		"("+e()+")*", e()+e()+e(), "["+e()+"]")
}

// shell nests what the policy and the interpreter have to follow.
func (g *programs) shell(depth int) string {
	if depth == 0 {
		return g.one("echo $a", "a=$b$a", "b=a", "f", "g", `eval "$a"`, "echo $((a))", "cat <<< $a", "a=$(echo $a$a)", ":",
			"read a <<< $b", "cd .", "echo ${!a}", "set -- $a", "shift", "local a=b", "unset a", "env $a", "xargs $a <<< x")
	}
	e := func() string { return g.shell(depth - 1) }
	return g.one(
		e()+"; "+e(), e()+" && "+e(), e()+" | "+e(), "( "+e()+" )", "{ "+e()+"; }", "f() { "+e()+"; }",
		"g() { "+e()+"; "+e()+"; }", "if "+e()+"; then "+e()+"; fi",
		"for a in 1 2 $b; do "+e()+"; done", "while "+e()+"; do "+e()+"; break; done", "a=$("+e()+")",
		"case $a in $b) "+e()+";; esac", "trap "+quoteWord(e())+" EXIT", "eval "+quoteWord(e()), "sh -c "+quoteWord(e()),
		"! "+e())
}
