package shell_test

import (
	"bytes"
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/command"
)

// grow doubles a text until it has about a million characters.
const grow = `g() { x=$1; while (( ${#x} < 1000000 )); do x=$x$x; done; }; `

// endless are scripts that would work for minutes if nothing looked at the clock.
var endless = map[string]string{
	"variable of itself":    `n=n+n; echo $((n))`,
	"two variables":         `a=b+b b=a+a; echo $((a))`,
	"chain of variables":    `a0=1; for i in {1..60}; do declare a$i="a$((i-1))+a$((i-1))"; done; echo $((a60))`,
	"chain with ternaries":  `a0=1; for i in {1..60}; do declare a$i="a$((i-1))?a$((i-1)):0"; done; echo $((a60))`,
	"chain of subscripts":   `a0=0; for i in {1..60}; do declare a$i="q[a$((i-1))]+q[a$((i-1))]"; done; echo $((a60))`,
	"chain in test":         `a0=1; for i in {1..60}; do declare a$i="a$((i-1))+a$((i-1))"; done; [[ a60 -eq 1 ]]`,
	"chain in a slice":      `a0=1; for i in {1..60}; do declare a$i="a$((i-1))+a$((i-1))"; done; x=abc; echo ${x:a60}`,
	"brackets as a pattern": grow + `g '['; while :; do [[ $x == $x ]]; done`,
	"classes as a pattern":  grow + `g '[[:alpha:]'; while :; do [[ $x == $x ]]; done`,
	"stars": grow +
		`g a; y=${x//a/*a}; y=${y//b/*[ab]}; while :; do [[ $x == *[a]*[a]*[a]*b ]]; [[ $x == ${y:0:9999}b ]]; done`,
	"groups":                  grow + `g a; while :; do [[ $x == *(a|aa|aaa)*(a|b)*(*(a)|c)d ]]; done`,
	"negated groups":          grow + `g ab; while :; do [[ $x == *!(*a*)!(b*)!(*c)?d ]]; done`,
	"groups that never close": grow + `g '*(+('; while :; do [[ $x == $x ]]; done`,
	"groups in groups": grow +
		`g a; q=a; for i in {1..200}; do q="*($q|b)"; done; while :; do [[ $x == ${q}c ]]; done`,
	"case":                grow + `g a; while :; do case $x in *(a|aa)b|*[a]*[b]*c|+(?|??)!(a)) : ;; esac; done`,
	"prefix":              grow + `g ab; while :; do y=${x##*([ab]|ba)c} y=${x#*[b]*[b]*c}; done`,
	"suffix":              grow + `g ab; while :; do y=${x%%c*([ab]|ba)} y=${x%c*[b]*[b]*}; done`,
	"replace":             grow + `g ab; while :; do y=${x//a*c/d} y=${x//+(ab|b)/c} y=${x//?/zz}; done`,
	"upper case":          grow + `g ab; while :; do y=${x^^} y=${x^^[a-z]} y=${x@U} y=${x@u}; done`,
	"quotes":              grow + `g $'\'\001'; while :; do y=${x@Q} y=${x@A} y=${x@E}; printf -v y %q "$x"; done`,
	"words":               grow + `g 'a '; while :; do y=($x); done`,
	"words by letters":    grow + `g 'ab'; IFS=b; while :; do y=($x); set -- $x; done`,
	"read into an array":  grow + `g 'a '; while :; do read -a y <<< "$x"; read -r y z <<< "$x"; done`,
	"mapfile":             grow + `g $'a\n'; while :; do mapfile -t y <<< "$x"; done`,
	"here-documents":      grow + "g 'a$'; while :; do cat > /dev/null <<E\n$x$x\nE\ndone",
	"braces":              `while :; do : {1..300000} {a,b}{c,d}{e,f}{1..9}{1..9}{1..9}{1..9}; done`,
	"names of files":      grow + `g './'; while :; do : $x* ; done`,
	"format":              grow + `g '%s'; while :; do printf -v y "$x" {1..1000}; done`,
	"slices":              grow + `g é; while :; do y=${x:5:99999} y=${x: -5:3} y=${#x}; done`,
	"comparing":           grow + `g a; while :; do [[ $x < $x ]]; [ "$x" = "$x" ]; [ "$x" -eq 1 ]; done 2> /dev/null`,
	"arrays":              `for i in {1..200000}; do a[200000-i]=$i; done; while :; do b=("${a[@]}"); b=("${!a[@]}"); c="${a[*]}"; done`,
	"tables":              `declare -A m; for i in {1..100000}; do m[$i]=$i; done; while :; do b=("${!m[@]}"); c=${m[@]@A}; done`,
	"commands joined":     `x=$(printf ':&&%.0s' {1..50000}); while :; do eval "$x:"; done`,
	"regular expressions": grow + `g a; while :; do [[ $x =~ ^(a|aa)+b$ ]]; done`,
	"pipeline": grow +
		`g a; while :; do [[ $x == *(a|aa)b ]]; done | while :; do [[ $x == *(a|aa)b ]]; done`,
}

func limited(memory int64, depth int64) *shell.Session {
	l := quota.Lenient()
	l.Time, l.Loops = time.Hour, 1<<50
	if memory > 0 {
		l.Memory = memory
	}
	if depth > 0 {
		l.Depth = depth
	}
	return shell.New(shell.Options{Commands: command.All(), Limiter: quota.NewLimiter(l), Parse: policy.ParseScript,
		Jobs: true})
}

// late is how much longer than allowed a script may take on a busy machine.
const late = 5 * time.Second

// TestDeadline gives scripts without an end little time, which they must keep
// without a watchdog that ends the process.
func TestDeadline(t *testing.T) {
	for name, script := range endless {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			_, err := limited(0, 0).Run(ctx, &run.Request{Script: script})
			if took := time.Since(start); took > 300*time.Millisecond+late {
				t.Errorf("it took %v (%v)", took, err)
			}
			if err == nil && !strings.HasPrefix(name, "variable") && !strings.HasPrefix(name, "two") {
				t.Error("it ended by itself: the case shows nothing")
			}
		})
	}
}

// TestCancelled cancels the same scripts, as a client does that has gone away.
func TestCancelled(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the same scripts as TestDeadline")
	}
	for name, script := range endless {
		ctx, cancel := context.WithCancel(t.Context())
		var cancelled atomic.Int64
		time.AfterFunc(200*time.Millisecond, func() { cancelled.Store(time.Now().UnixNano()); cancel() })
		_, err := limited(0, 0).Run(ctx, &run.Request{Script: script})
		if at := cancelled.Load(); at != 0 && time.Since(time.Unix(0, at)) > late {
			t.Errorf("%s: it went on for %v (%v)", name, time.Since(time.Unix(0, at)), err)
		}
		cancel()
	}
}

// hungry are scripts that would take more memory than they may.
var hungry = map[string]string{
	"arguments of functions":   grow + `g a; f() { f "$1"; }; f "$x"`,
	"arguments of eval":        grow + `g a; y="eval \"\$y\"; #${x:0:400000}"; eval "$y"`,
	"scripts of eval":          grow + `g 'a '; y="eval \"\$y\"; : ${x:0:200000}"; eval "$y"`,
	"local variables":          grow + `g a; f() { local x=${x}a; f; }; f`,
	"variables for a command":  grow + `g a; f() { x=${x}a f; }; f`,
	"replacement of all":       grow + `g '&'; y=${x//&/$x}`,
	"replacement by matches":   grow + `g '&'; y=${x/*/$x}`,
	"replacement at the start": grow + `g '&'; z=$x; g a; y=${x/#*/$z}`,
	"replacement at the end":   grow + `g '&'; z=$x; g a; y=${x/%*/$z}`,
	"traps": grow +
		`g :; for s in {1..31} DEBUG ERR RETURN; do trap "#$s$x$x" $s; done; y=$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x$x`,
	"functions": grow + `g 'a '; for i in {1..5000}; do eval "f$i() { : ${x:0:20000}; }"; done`,
	"positional parameters": grow +
		`g a; f() { set -- "$x" "$x" "$@"; f; }; for i in {1..1000}; do set -- "$@" "$x$i"; done`,
	"nested loops": grow +
		`g 'a '; s='for i in $x; do break; done'; for n in {1..100}; do s="for i in \$x; do $s; break; done"; done; eval "$s"`,
	"nested cases":        grow + `g a; s=:; for n in {1..200}; do s="case \$x in *) $s;; esac"; done; eval "$s"`,
	"widths":              `printf -v x '%*s%*s%*s' 90000000 a 90000000 a 90000000 a`,
	"joined elements":     grow + `g 'a '; a=($x); while :; do b+=("${a[*]}"); done`,
	"keys":                grow + `g a; declare -A m; while :; do m[$x$((i++))]=1; done`,
	"output of a command": `x=$(while :; do echo aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa; done)`,
	"patterns":            grow + `g '[a-z]?[^b]'; [[ a == $x$x$x$x$x$x$x$x ]]`,
}

// TestMemory runs scripts that grow. What is in use is looked at while they run.
func TestMemory(t *testing.T) {
	const limit = 64 << 20
	for name, script := range hungry {
		t.Run(name, func(t *testing.T) {
			debug.FreeOSMemory()
			var before runtime.MemStats
			runtime.ReadMemStats(&before)
			peak, stop := watchHeap()
			ctx, cancel := context.WithTimeout(t.Context(), testload.Bound(60*time.Second))
			defer cancel()
			_, err := limited(limit, 0).Run(ctx, &run.Request{Script: script})
			stop()
			if err == nil || !strings.Contains(err.Error(), "memory") && !strings.Contains(err.Error(), "depth") {
				t.Errorf("it was not stopped for its memory: %v", err)
			}
			if used := peak() - before.HeapAlloc; used > 6*limit && used < 1<<60 {
				t.Errorf("%d MB were in use, %d are allowed", used>>20, limit>>20)
			}
		})
	}
}

// watchHeap looks at the heap until stop is called. Garbage counts as well, so
// what it finds is more than what was held.
func watchHeap() (peak func() uint64, stop func()) {
	var most atomic.Uint64
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.HeapAlloc))
			select {
			case <-done:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return most.Load, func() { close(done); <-ended }
}

// nested are scripts that nest as deep as they are let. A stack of Go that
// overflows ends the process, whatever recovers.
var nested = map[string]string{
	"functions":             `f() { f; }; f`,
	"functions in blocks":   `b=f; for i in {1..200}; do b="{ $b; }"; done; eval "f() { $b; }"; f`,
	"functions in ifs":      `b=f; for i in {1..200}; do b="if :; then $b; fi"; done; eval "f() { $b; }"; f`,
	"functions in loops":    `b=f; for i in {1..200}; do b="for i in 1; do $b; done"; done; eval "f() { $b; }"; f`,
	"functions in cases":    `b=f; for i in {1..200}; do b="case a in *) $b;; esac"; done; eval "f() { $b; }"; f`,
	"functions in pipes":    `f() { f | f; }; f`,
	"functions in lists":    `b=f; for i in {1..200}; do b="{ : && $b; }"; done; eval "f() { $b; }"; f`,
	"eval":                  `x='eval "$x"'; eval "$x"`,
	"source":                `echo '. ./s' > s; . ./s`,
	"subshells":             `f() { (f); }; f`,
	"substitutions":         `f() { x=$(f); }; f`,
	"shells":                `x='bash -c "$x"'; export x; bash -c "$x"`,
	"command":               `x=$(printf 'command %.0s' {1..300000}); $x true`,
	"builtin":               `x=$(printf 'builtin %.0s' {1..300000}); $x true`,
	"exec":                  `x=$(printf 'exec %.0s' {1..300000}); $x true`,
	"env":                   `x=$(printf 'env %.0s' {1..100000}); $x true`,
	"negations of test":     `x=$(printf '! %.0s' {1..300000}); test $x a`,
	"parentheses of test":   `x=$(printf '( %.0s' {1..300000}); [ $x a ]`,
	"arithmetic":            `x=$(printf '(%.0s' {1..4000})1$(printf ')%.0s' {1..4000}); echo $(($x)) $((x))`,
	"arithmetic in names":   `o=$(printf '(%.0s' {1..3900}) c=$(printf ')%.0s' {1..3900}); a0=1; for i in {1..900}; do declare a$i="${o}a$((i-1))$c"; done; echo $((a900))`,
	"unary operators":       `x=$(printf -- '- %.0s' {1..3900})1; echo $((x)); x=$(printf '!%.0s' {1..7000})1; echo $((x))`,
	"ternaries":             `x=$(printf '1?1:%.0s' {1..2000})1; echo $((x))`,
	"long sums":             `x=$(printf '1+%.0s' {1..4000})1; echo $((x)); eval "echo \$(($(printf '1+%.0s' {1..200000})1))"`,
	"long tests":            `eval "[[ $(printf 'a && %.0s' {1..100000}) a ]]"`,
	"long lists":            `eval "$(printf ':&&%.0s' {1..300000}):"`,
	"long pipelines":        `eval "$(printf ':|%.0s' {1..300000}):"`,
	"long keys":             `declare -A m; eval "m[$(printf 'a+%.0s' {1..200000})a]=1"; eval "echo \${m[$(printf 'a+%.0s' {1..200000})a]}"`,
	"names of names":        `x=x; echo $((x)); y='z[y]' z='y[z]'; echo $((y)); a='a[a]'; echo $((a[a])) ${a[a]}`,
	"references":            `declare -n r=s s=r; echo $r ${!r}; r=1; declare -n q=q; q=1; echo $q`,
	"indirect":              `x=x; echo ${!x}; for i in {1..1000}; do declare v$i=v$((i+1)); done; echo ${!v1}`,
	"groups in patterns":    `x=$(printf '@(%.0s' {1..100000})a$(printf ')%.0s' {1..100000}); [[ a == $x ]]; echo ${x#$x} $x`,
	"negations in patterns": `x=$(printf '!(%.0s' {1..240})a$(printf ')%.0s' {1..240}); [[ a == $x ]]`,
	"braces":                `x=$(printf '{a,%.0s' {1..1000})b$(printf '}%.0s' {1..1000}); eval "echo $x"`,
	"braces side by side":   `x=$(printf '{a,b}%.0s' {1..1000}); eval "echo $x"`,
	"defaults":              `x=$(printf '${u:-%.0s' {1..400})a$(printf '}%.0s' {1..400}); eval "f() { echo $x; f; }"; f`,
	"defaults that call":    `x=$(printf '${u:-%.0s' {1..400})'$(f)'$(printf '}%.0s' {1..400}); eval "f() { echo $x; }"; f`,
	"traps":                 `trap 'f' DEBUG ERR RETURN EXIT; f() { trap 'f' DEBUG ERR RETURN EXIT; false; f; }; set -TE; f`,
	"traps of exit":         `f() { (trap 'f' EXIT); }; f`,
	"callbacks":             `f() { mapfile -C f -c 1 x <<< a; }; f`,
	"jobs":                  `f() { f & wait; }; f`,
	"prompts":               `set -x; PS4='$(f)+'; f() { f; }; f`,
	"globs":                 `x=$(printf './%.0s' {1..300000}); echo $x*; x=$(printf '/%.0s' {1..300000}); echo $x*; x=$(printf '*/%.0s' {1..3000}); echo $x`,
	"integers":              `declare -i n; n=n+n; f() { declare -i m=m+m; f; }; f`,
	"xargs":                 `f() { echo a | xargs -I{} bash -c 'echo {} | xargs -I@ bash -c "echo @"'; }; f`,
}

// TestNesting runs them with the usual depth and with one that is far too large.
func TestNesting(t *testing.T) {
	depths := []int64{0, 1 << 40}
	if testing.Short() { // with the race detector hundreds of thousands of stages take a minute to end
		depths = depths[:1]
	}
	for name, script := range nested {
		t.Run(name, func(t *testing.T) {
			for _, depth := range depths {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				start := time.Now()
				var out bytes.Buffer
				_, err := limited(0, depth).Run(ctx, &run.Request{Script: script, Stdout: &out, Stderr: &out})
				cancel()
				if took := time.Since(start); took > 2*time.Second+late {
					t.Errorf("it took %v (%v)", took, err)
				}
				if err != nil && strings.Contains(err.Error(), "it broke") {
					t.Error(err)
				}
			}
		})
	}
}
