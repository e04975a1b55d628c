package command

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/quota"
	"hako/shell"
	"hako/shell/command/data"
	"hako/shell/command/text"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// A grammar lists the ways to write each kind of phrase; a name in angle
// brackets stands for a phrase of that kind. The first way of each is short and
// refers to no other, so that every program ends.
type grammar map[string][]string

var jqGrammar = grammar{
	"p": {".", "<p>|<p>", "<p>,<p>", "<p><o><p>", "[<p>]", "{a:<p>}", "{(<s>):<p>}", "def f: <p>; <p>",
		"def f(g): <p>; f(<p>)",
		"def f($a; g): <p>; f(<p>; <p>)", "if <p> then <p> else <p> end", "try <p> catch <p>", "reduce <p> as $x (<p>; <p>)",
		"foreach <p> as $x (<p>; <p>)", "<p> as $x | <p>", "<p> as [$x, $y] | <p>", "label $l | <p>", "<f>", "<f>(<p>)",
		"<v>", "<s>", "<p>[<p>:<p>]",
		"<p>[]?", ".[<p>]", ".a |= <p>", ".[] += <p>", "(<p>)", "-<p>", `"\(<p>)"`, "@json \"\\(<p>)\"", "limit(<n>; <p>)",
		"<p> // <p>", "path(<p>)",
		"until(<p>; <p>)", "while(<p>; <p>)", "repeat(<p>)", "range(<n>)", "recurse(<p>)", "f", "f(<p>)", "g", "$x",
		"break $l", "error(<p>)", "<s> * <n>",
		"[<p>] | <f>", "splits(<s>)", "test(<s>)", "gsub(<s>; <p>)", "input", "first(<p>)", "sort_by(<p>)", "group_by(<p>)",
		"del(<p>)", "walk(<p>)"},
	"o": {"+", "-", "*", "/", "%", "==", "<", " and ", " or "},
	"f": {"length", "keys", "add", "sort", "unique", "flatten", "reverse", "tojson", "fromjson", "tostring", "explode",
		"implode", "transpose", "min", "max",
		"to_entries", "from_entries", "ascii_upcase", "paths", "tostream", "combinations", "..", "@csv", "@base64",
		"@base64d", "@uri", "not", "floor", "any"},
	"v": {"1", "null", "true", "-1", "1e9", "[]", "{}", "[1,[2]]", `{"a":{"b":[1]}}`},
	"s": {`"a"`, `""`, `"a*"`, `"(a|b)+"`, `"日本"`, `"[[1]]"`, `"(?<x>a)"`},
	"n": {"3", "60", "1000", "1e7"},
}

var awkGrammar = grammar{
	"p": {"BEGIN{<b>}", "function f(x,y){<b>;return <e>} BEGIN{<b>}", "{<b>} END{<b>}", "/<r>/{<b>}"},
	"b": {"x=1", "<b>;<b>", "if(<e>){<b>}else{<b>}", "while(<e>){<b>}", "for(i=0;i<<n>;i++){<b>}", "for(k in a){<b>}",
		"do{<b>}while(<e>)", "print <e>",
		"printf <s>,<e>", "x=<e>", "a[<e>]=<e>", "$<e>=<e>", "delete a", "NF=<n>", "FS=<s>", "$0=<e>", "x=x <e>",
		"sub(/<r>/,<e>,x)", "gsub(/<r>/,<e>)", "asort(a,c)",
		"n=split(<e>,a,<s>)", "getline", "f(<e>,<e>)", "match(<e>,/<r>/,m)", "exit"},
	"e": {"x", "1", "<e>+<e>", "<e> <e>", "(<e>)", "<e>?<e>:<e>", "!<e>", "-<e>", "<e>~/<r>/", "<e>~<s>", "<e><<e>",
		"a[<e>]", "$<n>", "length(<e>)", "substr(<e>,<n>)",
		"index(<e>,<s>)", "toupper(<e>)", "sprintf(<s>,<e>)", "sprintf(\"%<n>d\",<e>)", "strtonum(<e>)",
		"gensub(/<r>/,<s>,\"g\",<e>)", "f(<e>,<e>)", "x++", "<e>^<n>", "(<e> in a)", "<s>"},
	"r": {"a", "a*", "(a|b)*c", "[^a]", "(<r>)", "<r><r>", "<r>|<r>", "<r>{3}", "^<r>$", "[[:alpha:]]+", "(<r>)*"},
	"s": {`"a"`, `"%s"`, `" "`, `"%d%c"`, `"é"`, `""`},
	"n": {"3", "60", "1000", "10000000"},
}

// write spells a phrase. Below the depth only the first way is taken.
func (g grammar) write(rng *rand.Rand, kind string, depth int) string {
	ways := g[kind]
	way := ways[0]
	if depth > 0 {
		way = ways[rng.IntN(len(ways))]
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(way, "<")
		name, after, closed := strings.Cut(rest, ">")
		if !found {
			out.WriteString(way)
			return out.String()
		}
		if _, known := g[name]; !closed || !known {
			out.WriteString(before + "<")
			way = rest
			continue
		}
		out.WriteString(before + g.write(rng, name, depth-1))
		way = after
	}
}

// withinBounds runs a command with little to spend: it must end in time, in one
// piece, within memory, and give back what it charged.
func withinBounds(t *testing.T, cmd shell.Command, input string, args ...string) {
	t.Helper()
	limits := quota.Lenient()
	limits.Memory, limits.Time = 32<<20, 200*time.Millisecond
	limiter := quota.NewLimiter(limits)
	ctx, stop := limiter.Start(context.Background())
	defer stop()
	began, peak := time.Now(), watchHeap()
	_ = cmd.Run(ctx, &shell.Call{ // any answer will do, as long as there is one
		Name: cmd.Name, Args: args, Stdin: stream.NewBytes([]byte(input)), Stdout: stream.NewWriter(io.Discard),
		Stderr: io.Discard,
		Dir:    "/", FS: vfs.New(vfs.Options{Limiter: limiter}), Limiter: limiter, Now: time.Now,
		Getenv: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
	})
	heap, took := peak(), time.Since(began)
	if took > testload.Bound(10*time.Second) {
		t.Errorf("%s %q took %v", cmd.Name, args, took)
	}
	if heap > 300<<20 {
		t.Errorf("%s %q took %d MB", cmd.Name, args, heap>>20)
	}
	if held := limiter.Held(); held != 0 {
		t.Errorf("%s %q: %d bytes are still charged", cmd.Name, args, held)
	}
}

// FuzzJqPrograms generates programs of jq from a seed.
func FuzzJqPrograms(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, 4+int(seed%4))
	}
	f.Fuzz(func(t *testing.T, seed uint64, depth int) {
		program := jqGrammar.write(rand.New(rand.NewPCG(seed, 1)), "p", max(0, min(depth, 7)))
		withinBounds(t, data.Jq, `[1,{"a":[2,"aab"]}] "abc" 3`, "-c", program)
	})
}

// FuzzAwkPrograms generates programs of awk from a seed.
func FuzzAwkPrograms(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed, 4+int(seed%4))
	}
	f.Fuzz(func(t *testing.T, seed uint64, depth int) {
		program := awkGrammar.write(rand.New(rand.NewPCG(seed, 2)), "p", max(0, min(depth, 7)))
		withinBounds(t, text.Awk, "a b aac\n1 2 3\n\n日本 x\n", program)
	})
}
