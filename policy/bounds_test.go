package policy

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/run/fault"
)

// The bounds that judging has to keep. Both are much more than it should need:
// these tests run beside others, on machines of any speed.
const (
	mostMemory = 200 << 20
	mostTime   = 20 * time.Second
)

// judgedWithin parses and judges a script under a policy. It fails if that takes
// too much, and returns the verdicts and what was refused already by the parser.
func judgedWithin(t *testing.T, name, src string, p *Policy) ([]Verdict, error) {
	t.Helper()
	before, start := heapBytes(), time.Now()
	file, err := ParseScript(src)
	if err != nil {
		if k := fault.KindOf(err); k != fault.TooLarge && k != fault.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		return nil, err
	}
	vs := p.At(testRoot).Program(file)
	if d := time.Since(start); d > mostTime {
		t.Errorf("%s under %s took %v", name, p.Profile(), d)
	}
	if after := heapBytes(); after > before+mostMemory {
		t.Errorf("%s under %s took %d bytes", name, p.Profile(), after-before)
	}
	for _, v := range vs {
		if v.Effect == Deny && (v.Why == "" || v.Where == "" || v.Hint == "") {
			t.Errorf("%s under %s: denied without reason, place or hint: %+v", name, p.Profile(), v)
		}
	}
	return vs, nil
}

func heapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64() + s[1].Value.Uint64()
}

func boundedPolicies() []*Policy {
	return []*Policy{hostPolicy(), Default("virtual", Options{}), Default("container", Options{})}
}

func TestJudgingIsBounded(t *testing.T) {
	sizes := []int{maxScript, maxScript / 8}
	if testing.Short() {
		sizes = []int{maxScript / 256}
	}
	policies := boundedPolicies()
	for _, size := range sizes {
		for i, g := range wideScripts(size) {
			src := g.src()
			judgedWithin(t, fmt.Sprintf("%s of %d bytes", g.name, len(src)), src, policies[i%len(policies)])
			judgedWithin(t, fmt.Sprintf("%s of %d bytes", g.name, len(src)), src, policies[0])
		}
	}
}

func TestNestingIsBounded(t *testing.T) {
	size := maxScript
	if testing.Short() {
		size = maxScript / 64
	}
	policies := boundedPolicies()
	for i, g := range nestedScripts(size) {
		judgedWithin(t, g.name, g.src(), policies[i%len(policies)])
	}
}

// A script that is given up on is denied as a whole, with a reason.
func TestTooMuchIsDenied(t *testing.T) {
	for name, src := range map[string]string{
		"commands":         fill("mkdir -p out/dir\n", maxScript/2),
		"values":           "x=" + fill("a", 2000) + "; echo " + fill("$x", 20000),
		"arrays":           "a=(" + fill("x ", 20000) + "); " + fill(`echo "${a[@]}"; `, 20000),
		"arrays in arrays": nesting{open: "a=( $(", core: "echo a", end: ") )"}.nested(200, maxScript),
	} {
		vs, err := judgedWithin(t, name, src, hostPolicy())
		if err != nil || len(vs) != 1 || vs[0].Effect != Deny || vs[0].Late || vs[0].Where != "too much to judge" {
			t.Errorf("%s: %v, %d verdicts, %.300v", name, err, len(vs), vs[:min(1, len(vs))])
		}
	}
}

// What is parsed without recursion must not become a tree that is too deep to walk.
func TestTreesAreShallow(t *testing.T) {
	for name, src := range map[string]string{
		"elifs": "if a; then :" + strings.Repeat("; elif a; then :", 20000) + "; fi",
		"sum":   "echo $((1" + strings.Repeat("+1", 20000) + "))",
		"list":  "a" + strings.Repeat(" && a", 20000), "pipe": "a" + strings.Repeat(" | a", 20000),
		"tests": "[[ a" + strings.Repeat(" && a", 20000) + " ]]",
	} {
		if _, err := ParseScript(src); fault.KindOf(err) != fault.TooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// How a script is judged does not depend on how long it took before.
func TestBoundIsDeterministic(t *testing.T) {
	p := hostPolicy()
	src := "echo " + strings.Repeat("a ", 20) + "| xargs -I{} xargs -I{} xargs -I{} ls {}"
	want := fmt.Sprint(p.Script(src))
	for range 5 {
		if got := fmt.Sprint(p.Script(src)); got != want {
			t.Fatalf("%s, then %s", want, got)
		}
	}
}

func TestValuesThatReferToThemselves(t *testing.T) {
	p := hostPolicy()
	for _, src := range []string{
		"n=n+n+n+n+n+n+n+n+3; echo $((n))", "n=n; ((n))", "a=b; b=a; ((a))", "a=b; b=c; c=d+a; echo $((a))",
		"declare -i n; n=n+n+n+n; n=n+n+n", "n=n+1; [[ n -eq 3 ]]", "n='n[n]'; echo ${!n}",
	} {
		vs, err := judgedWithin(t, src, src, p)
		if err != nil || Strictest(vs) != Deny || len(vs) > 4 {
			t.Errorf("%s: %v %v", src, err, vs)
		}
	}
	for _, src := range []string{"n=3; m=n+n+n+n; echo $((m+m+m+n))", "a=b; b=3; ((a+a+b)); echo $((a))",
		"n=1; n=$((n+1)); echo $((n))"} {
		vs, err := judgedWithin(t, src, src, p)
		if err != nil || Strictest(vs) != Allow {
			t.Errorf("%s: %v %v", src, err, vs)
		}
	}
}

// What a variable holds is followed wherever it leads, also where names are
// followed before on another way.
func TestFollowedToTheEnd(t *testing.T) {
	chain := "x='a[$(rm -rf y)]'; "
	for i := range 20 {
		chain += fmt.Sprintf("v%d=v%d; ", i, i+1)
	}
	for _, profile := range []string{"host", "container"} {
		p := Default(profile, Options{Root: testRoot})
		for _, src := range []string{
			chain + "v20=x; ((v0))", chain + "v20=x; ((v0+v19))", chain + "v20=x; s=v0+v20; ((s))",
			"a=b+c; b=c; c=x; x='y[$(rm z)]'; ((a))",
		} {
			if vs, err := p.Script(src); err != nil || Strictest(vs) != Deny {
				t.Errorf("%s: %s: %v %v", profile, src, err, vs)
			}
		}
	}
}

// Ordinary scripts are judged, however long.
func TestLongScriptsAreJudged(t *testing.T) {
	for name, src := range map[string]string{
		"lines": strings.Repeat("echo some ordinary words of a line in a script\n", 20000),
		"commands": strings.Repeat(
			"cp source.txt target.txt\ngrep -n x src/a.go\nmkdir -p out/dir\necho one two three\n", 4500),
		"heredoc":       "cat <<'E' > a.txt\n" + fill("some ordinary words of a text, and more\n", maxScript-100) + "E\n",
		"open heredoc":  "cat <<E > a.txt\n" + fill("some ordinary words of a text, and $more\n", maxScript/2) + "E\n",
		"quoted":        "printf '%s' '" + fill("some ordinary words of a text, and more\n", maxScript-100) + "' > a.txt",
		"base64":        "echo " + fill("QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo", maxScript-100) + " > a.txt",
		"comments":      strings.Repeat("# some ordinary words of a comment in a script\n", 5000) + "ls\n",
		"list":          "true" + strings.Repeat(" && true", 1000),
		"many branches": strings.Repeat("if [ -f a ]; then x=1; else x=2; fi\n", 3000),
	} {
		for _, p := range boundedPolicies() {
			if vs, err := judgedWithin(t, name, src, p); err != nil || Strictest(vs) != Allow {
				t.Errorf("%s under %s: %v, %d verdicts, %.300v", name, p.Profile(), err, len(vs), vs[:min(1, len(vs))])
			}
		}
	}
}

// Commands are judged within bounds also when they are about to run.
func TestLateJudgingIsBounded(t *testing.T) {
	long := fill("a/../", maxScript)
	for _, p := range boundedPolicies() {
		for _, argv := range [][]string{
			append([]string{"find", "."}, strings.Fields(fill("-exec find . ", maxScript))...),
			append([]string{"find", "."},
				strings.Fields(strings.Repeat("-exec find . ", 14)+strings.Repeat("-o -regex (((a{9}){9}){9}) ", 100))...),
			{"ls", "-" + fill("a", maxScript)}, {"cat", long}, {"cat", fill("../", maxScript)}, {"awk", fill("/[[:", maxScript)},
			{"sed", "s/" + fill("[[.", maxScript)},
			{"sh", "-c", fill("n=n+n+n; echo $((n));", maxScript)}, {"sh", "-c", fill("a;", maxScript)},
			{"eval", "n=n+n+n+n+n+n+n+n; echo $((n))"},
			append([]string{"env"}, strings.Fields(fill("A=b ", maxScript))...),
			append([]string{"git"}, strings.Fields(fill("-C a ", maxScript))...),
			append([]string{"cp"}, strings.Fields(fill("-r a ", maxScript))...),
			append([]string{"sed"}, strings.Fields(fill("-e p ", maxScript))...),
			append([]string{"chmod"}, strings.Fields(fill("-v ", maxScript))...),
			append([]string{"make"}, strings.Fields(fill("CC=ls ", maxScript))...),
			append(strings.Fields(fill("xargs -I{} ", maxScript)), "ls"),
		} {
			start := time.Now()
			v := p.CallAt(testRoot, argv)
			if d := time.Since(start); d > mostTime {
				t.Errorf("%s: %.60q took %v", p.Profile(), argv, d)
			}
			if v.Effect == Deny && (v.Why == "" || v.Where == "" || v.Hint == "") {
				t.Errorf("%s: %.60q: denied without reason, place or hint", p.Profile(), argv)
			}
		}
		start := time.Now()
		if v := p.RedirectAt(testRoot, ">", long); p.Profile() == "host" && v.Effect != Deny || time.Since(start) > mostTime {
			t.Errorf("%s: a redirection to a long path: %v after %v", p.Profile(), v.Effect, time.Since(start))
		}
	}
}

// FuzzBounds looks for scripts that take long to parse or to judge. What is
// found by the fuzzer is repeated, for one copy of it may be cheap.
func FuzzBounds(f *testing.F) {
	for _, file := range []string{"attacks.jsonl", "benign.jsonl"} {
		for i, c := range readCorpus(f, file) {
			f.Add(c.Command, "; ", "", uint8(i))
		}
	}
	for i, n := range nestings {
		f.Add(n.open, n.core, n.end, uint8(i))
	}
	policies := boundedPolicies()
	f.Fuzz(func(t *testing.T, open, core, end string, times uint8) {
		n := min(1<<(times%16), maxScript/(1+len(open)+len(end)))
		src := wrap(open, core, end, n)
		before := totalAllocated()
		start := time.Now()
		file, err := ParseScript(src)
		if err == nil {
			policies[int(times)%len(policies)].Program(file)
		}
		if d := time.Since(start); d > testload.Bound(2*time.Second) {
			t.Fatalf("%q %q %q, %d times, took %v", open, core, end, n, d)
		}
		if spent := totalAllocated() - before; spent > 400<<20 {
			t.Fatalf("%q %q %q, %d times, took %d bytes", open, core, end, n, spent)
		}
	})
}

// totalAllocated counts what was ever allocated, whether it is in use or not.
func totalAllocated() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
