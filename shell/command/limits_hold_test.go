package command

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/vfs"
)

// What a script may take that tries to take everything. The session permits 300
// ms and 64 MB; the rest is for a machine that is busy, and for garbage.
const (
	confinedTime   = 300 * time.Millisecond
	confinedMemory = 64 << 20
	mostTime       = 20 * time.Second
	mostHeap       = 400 << 20
)

// A trial is a script that must be stopped, or end by itself.
type trial struct {
	name, script string
	files        map[string]string
	want         string // what it must print or end with; empty is anything
}

// watchHeap samples the heap until stop is called, which returns its peak.
func watchHeap() (stop func() int64) {
	var peak atomic.Int64
	done, ended := make(chan struct{}), make(chan struct{})
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	go func() {
		defer close(ended)
		for {
			metrics.Read(sample)
			peak.Store(max(peak.Load(), int64(sample[0].Value.Uint64()+sample[1].Value.Uint64())))
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() int64 { close(done); <-ended; return peak.Load() }
}

// confine runs a script with little to spend and returns what it said.
func confine(t *testing.T, script string, files map[string]string) (said string, limiter *quota.Limiter) {
	t.Helper()
	limits := quota.Lenient()
	limits.Time, limits.Memory, limits.FileSize = confinedTime, confinedMemory, 32<<20
	limiter = quota.NewLimiter(limits)
	fs := vfs.New(vfs.Options{})
	for name, data := range files {
		if err := fs.WriteFile("/box/"+name, []byte(data), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ses := shell.New(shell.Options{FS: fs, Commands: All(), Limiter: limiter, Dir: "/box"})
	var out strings.Builder
	_, err := ses.Run(context.Background(), &run.Request{Script: script, Stdout: io.Discard, Stderr: &out})
	if err != nil {
		out.WriteString(err.Error())
	}
	return out.String(), limiter
}

func (c trial) try(t *testing.T) {
	runtime.GC()
	began, peak := time.Now(), watchHeap()
	said, limiter := confine(t, c.script, c.files)
	took, heap := time.Since(began), peak()
	t.Logf("%v, %d MB, %.120q", took.Round(time.Millisecond), heap>>20, said)
	if took > mostTime {
		t.Errorf("took %v", took)
	}
	if heap > mostHeap {
		t.Errorf("took %d MB", heap>>20)
	}
	if c.want != "" && !strings.Contains(said, c.want) && !strings.Contains(said, "limit time=") {
		t.Errorf("said %.300q, want %q", said, c.want)
	}
	if held := limiter.Held(); held > 1<<20 {
		t.Errorf("%d bytes are still charged", held)
	}
}

func jqTrial(program, want string) trial {
	return trial{"jq " + program, "jq -nc -f p", map[string]string{"p": program}, want}
}

func awkTrial(program, want string) trial {
	return trial{"awk " + program, "awk -f p", map[string]string{"p": program}, want}
}

// TestLimitsHold runs programs that once overflowed the stack, looked at the
// clock too late or took memory that nobody counted.
func TestLimitsHold(t *testing.T) {
	big := map[string]string{"f": strings.Repeat("a", 30<<20)}
	trials := []trial{
		jqTrial(`def f(x;$n): if $n==0 then x else f(x|x;$n-1) end; 1|f(.;24)`, "limit memory="), // of its stack
		jqTrial(`def f(x;$n): if $n==0 then x else f(x,x;$n-1) end; [f(empty;60)]`, "limit time="),
		jqTrial(`def f(g): f(g|g); f(.)`, "limit depth="),
		jqTrial(`def f(g): def h: g|g; f(h); f(.)`, "limit depth="),
		jqTrial(`def f: [[[[[[[[f]]]]]]]]; f`, "limit memory="),
		jqTrial(`def f: {a: {a: {a: f}}}; f`, "limit depth="),
		jqTrial(`def f: "\(f)"; f`, "limit depth="),
		jqTrial(`def f: (.a |= f); f`, "limit depth="),
		jqTrial(`[`+strings.Repeat(`(empty,1,1)|`, 60)+`empty]`, "limit time="),
		jqTrial(`[`+strings.Repeat(`(1,1)+`, 60)+`1|empty]`, "limit time="),
		jqTrial(`[`+strings.Repeat(`(true,true) and `, 60)+`true|empty]`, "limit time="),
		jqTrial(`[{`+strings.TrimSuffix(strings.Repeat(`a:(1,1),`, 60), ",")+`}|empty]`, "limit time="),
		jqTrial(`["`+strings.Repeat(`\(1,1)`, 60)+`"|empty]`, "limit time="),
		jqTrial(`("a"*20000000) as $x|last(range(1e9)|($x|length))`, "limit time="),
		jqTrial(`(" "*20000000) as $x|last(range(1e9)|($x|trim))`, "limit time="),
		jqTrial(`("a"*20000000) as $x|last(range(1e9)|($x|tonumber?))`, "limit time="),
		jqTrial(`[range(100000)|{(tostring):.}]|add as $o|last(range(1e9)|$o==($o+{a:1}))`, "limit"),
		jqTrial(`"a"*60000000|ascii_upcase|length`, "limit memory="),
		jqTrial(`[range(1e9)]`, "limit memory="),
		jqTrial(`[range(100000)|("a,"+("b"*1000000))|split(",")[0]]|length`, "limit time="),
		jqTrial(`reduce range(1e9) as $i ([]; .[$i]=1)`, "limit memory="),
		jqTrial(`reduce range(1e9) as $i ({}; .["a\($i)"]=1)`, "limit memory="),
		jqTrial(`last(path(repeat(.a)))`, "limit"),
		jqTrial(`reduce range(1000000) as $i (.; [.])|tojson`, "limit depth="),
		jqTrial(`"a"|test("a{1000}"*3000)`, "instructions"),
		jqTrial(`"a"|test("a"*100000)`, "longer than 64 KB"),
		{"many jqs", strings.TrimSuffix(strings.Repeat("jq -n '[range(200000)]|.,last(range(1e9))'|", 24), "|"), nil,
			"limit memory="},
		{"chained jqs", "jq -nc '[range(300000)]'" + strings.Repeat("|jq -c .", 23), nil, "limit memory="},
		{"jq program", "jq -n -f p", map[string]string{"p": strings.Repeat("1,", 1<<20) + "1"}, "longer than 256 KB"},

		awkTrial(`BEGIN{for(i=0;i<300000;i++)a[i]=-i; while(1) asort(a,b)}`, "limit"),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);while(1)strtonum(x)}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);while(1)n+=x}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);while(1)gsub(/1/,"&",x)}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);while(1)match(x,/(0|00)*1/,m)}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);y=x "1";while(1)z=(x<y)}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);while(1)a[x]=1}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%020000000d",0);while(1){$0=x;n+=NF}}`, "limit time="),
		awkTrial(`BEGIN{x=sprintf("%01000000d",0);gsub(/0/,"a?",x);while(1)y="a" ~ x}`, ""),
		awkTrial(`BEGIN{x="%c";for(i=0;i<20;i++)x=x x;while(1)strftime(x)}`, ""),
		awkTrial(`BEGIN{while(1)y="a" ~ ("a{1000}" i++)}`, "limit time="),
		{"awk program", "awk -f p", map[string]string{"p": "BEGIN{" + strings.Repeat("x;", 1<<20) + "}"},
			"longer than 1024 KB"},
		{"awk operand", `awk "$(cat p)"`, map[string]string{"p": "BEGIN{" + strings.Repeat("x;", 1<<20) + "}"},
			"longer than 1024 KB"},

		{"grep -f", "grep -f f f", big, "longer than 1 MB"},
		{"grep pattern", `(x=$(head -c 9000000 f); grep "$x" f)`, big, "longer than 1 MB"},
		{"grep -F -f", "grep -F -f f f", big, "longer than 8 MB"},
		{"sed -f", "sed -f f f", big, "longer than 1024 KB"},
		{"tr set", `(x=$(head -c 9000000 f); tr "$x" b < f)`, big, "longer than 32 KB"},
		{"grep classes", "grep -E -f p f", map[string]string{"p": strings.Repeat("[[:alpha:]]", 50000), "f": "a\n"}, ""},
		{"grep words", "grep -E -f p f", map[string]string{"p": strings.Repeat(`\w`, 200000), "f": "a\n"}, ""},
		{"grep options", "grep -E -f p f", map[string]string{"p": strings.Repeat("a?", 200000), "f": "a\n"}, ""},
		{"grep alternatives", "grep -E -f p f", map[string]string{"p": strings.Repeat("a|", 200000), "f": "a\n"}, ""},
		{"grep states", "grep -cE '(a|b)*a(a|b){3000}c' f", map[string]string{"f": abText(4 << 20)}, ""},
		{"grep -o", "grep -o 'a*b' f", big, ""},
		{"sed s///g", `sed -E 's/(a|aa)*b/x/g' f`, big, ""},
		{"factor", "seq 1000000000000 1000001000000 | factor", nil, "limit time="},
	}
	for _, c := range trials {
		t.Run(firstWords(c.name), func(t *testing.T) { c.try(t) })
	}
}

func firstWords(s string) string { return s[:min(len(s), 60)] }

// abText is text of two letters in no order.
func abText(n int) string {
	b := make([]byte, n)
	x := uint32(1)
	for i := range b {
		x = x*1664525 + 1013904223
		b[i] = 'a' + byte(x>>31)
	}
	return string(b)
}

// TestNestingIsBounded nests programs and data in every language: the answer
// may be anything, but there must be one.
func TestNestingIsBounded(t *testing.T) {
	shapes := []struct{ command, before, middle, after string }{
		{"jq -nc -f p", "(", "1", ")"}, {"jq -nc -f p", "[", "1", "]"}, {"jq -nc -f p", `{"a":`, "1", "}"},
		{"jq -nc -f p", "-", "1", ""},
		{"jq -nc -f p", "1|", "1", ""}, {"jq -nc -f p", "1+", "1", ""}, {"jq -nc -f p", ". as $x|", "1", ""},
		{"jq -nc -f p", "try ", "1", ""},
		{"jq -nc -f p", "def f: ", "1", "; f"}, {"jq -nc -f p", `"\(`, "1", `)"`}, {"jq -nc -f p", ".a", "", ""},
		{"jq -nc -f p", ".[0]?", "", ""},
		{"jq -nc -f p", "if 1 then ", "1", " end"}, {"jq -nc -f p", "first(", "1", ")"}, {"jq -nc -f p", ".a=", "1", ""},
		{"jq -c . p", "[", "1", "]"}, {"jq -c . p", `{"a":`, "1", "}"}, {"jq -c '[..]|length' p", "[", "1", "]"},
		{"jq --stream -c . p", "[", "", "]"},
		{"yq . p", "[", "1", "]"}, {"yq . p", "{a: ", "1", "}"}, {"yq . p", "- ", "1", ""}, {"yq . p", "? ", "1", ""},
		{"yq -o json . p", "- ", "1", ""},
		{"awk -f p", "BEGIN{x=" + strings.Repeat("(", 9), "1", strings.Repeat(")", 9) + "}"},
		{"bc p", "(", "1", ")"}, {"bc p", "-", "1", ""}, {"bc p", "{", "1", "}"}, {"bc p", "if(1)", "1", ""},
		{"bc p", "sqrt(", "1", ")"}, {"bc p", "2^", "1", ""},
		{"dc p", "[", "1", "]x"}, {"dc p", "[", "", "]"}, {"sed -n -f p f", "{", "p", "}"},
		{"sed -n -f p f", "/a/{", "p", "}"}, {"sed -n -f p f", "1!{", "p", "}"},
		{"grep -E -f p f", "(", "a", ")"}, {"grep -E -f p f", "(a|", "a", ")"}, {"grep -P -f p f", "(?:", "a", ")"},
		{"grep -f p f", `\(`, "a", `\)`},
		{"xargs expr < p", "( ", "1", " )"}, {"xargs find . < p", "( ", "-true", " )"},
		{"xargs find . < p", "! ", "-true", ""}, {"xargs test < p", "( ", "a", " )"},
	}
	for _, s := range shapes {
		for _, n := range []int{10, 1000, 100_000} {
			text := strings.Repeat(s.before, n) + s.middle + strings.Repeat(s.after, n) + "\n"
			t.Run(fmt.Sprintf("%s %s %d", s.command, firstWords(s.before), n), func(t *testing.T) {
				trial{s.command, s.command, map[string]string{"p": text, "f": "a\n"}, ""}.try(t)
			})
		}
	}
}

// TestSessionsDoNotShareMemory runs a session that keeps to its limit beside
// others that hold much in the same process.
func TestSessionsDoNotShareMemory(t *testing.T) {
	hoard := make([][]byte, 0, 300)
	for range 300 {
		hoard = append(hoard, make([]byte, 1<<20))
	}
	said, _ := confine(t, `jq -n '[range(300)|tostring]|length'; jq -n '[limit(20; repeat([range(1000)]))]|length'`, nil)
	if said != "" {
		t.Errorf("a small program was stopped: %s", said)
	}
	runtime.KeepAlive(hoard)
}

// TestJqDropsValues makes far more values than may live at once.
func TestJqDropsValues(t *testing.T) {
	for _, program := range []string{
		`reduce range(3000) as $i (0; . + ([range(1000)|tostring]|length))`,
		`[range(3000) | [range(1000)] | length] | add`,
		`reduce range(2000) as $i (""; ("x"*100000)[0:10])`,
		`last(range(2000) | [range(1000)|{a: .}] | map(.a) | add)`,
		`[limit(2000; repeat("a"*100000 | length))] | length`,
	} {
		limits := quota.Lenient()
		limits.Time, limits.Memory = time.Minute, 24<<20
		limiter := quota.NewLimiter(limits)
		ses := shell.New(shell.Options{FS: vfs.New(vfs.Options{}), Commands: All(), Limiter: limiter, Dir: "/"})
		var out strings.Builder
		_, err := ses.Run(context.Background(), &run.Request{Script: "jq -n '" + program + "'", Stdout: io.Discard,
			Stderr: &out})
		if err != nil || out.String() != "" {
			t.Errorf("%s: %v %s", program, err, out.String())
		}
		if limiter.Held() != 0 {
			t.Errorf("%s: %d bytes are still charged", program, limiter.Held())
		}
	}
}
