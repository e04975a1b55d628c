package shell_test

import (
	"testing"
	"time"

	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/shell"
	"hako/shell/command"
)

// BenchmarkScripts measures what the interpreter itself does.
func BenchmarkScripts(b *testing.B) {
	for _, c := range []struct{ name, script string }{
		{"arithmetic", `for ((i = 0; i < 2000; i++)); do ((n = n * 3 + i % 7 - (i << 1))); done`},
		{"functions", `f() { local x=$1; return 0; }; for i in {1..1000}; do f $i; done`},
		{"lists", `for i in {1..2000}; do [ $i = 5 ] && : || :; done`},
		{"literal patterns", `for i in {1..2000}; do [[ abc.txt == abc.txt ]]; done`},
		{"simple patterns", `for i in {1..2000}; do [[ abc.txt == *.txt ]]; [[ abc.txt == [a-c]*.t?t ]]; done`},
		{"groups", `for i in {1..1000}; do [[ abc.txt == +([a-z]).@(txt|md) ]]; [[ abc == !(*.txt) ]]; done`},
		{"case", `for i in {1..1000}; do case file$i.log in *.txt|*.md) ;; [0-9]*) ;; file*[13579].log) ;; *) ;; esac; done`},
		{"cut", `f=/usr/local/lib/x.tar.gz; for i in {1..1000}; do a=${f##*/} b=${f%.*} c=${f%%[.]*} d=${f#/*/}; done`},
		{"replace", `x='the quick brown fox'; for i in {1..1000}; do a=${x// /_} b=${x//[aeiou]/.} c=${x//+([a-z])/w}; done`},
		{"replace in long text",
			`x=$(printf 'the quick brown fox %.0s' {1..5000}); a=${x//quick/slow}; b=${x//[aeiou]/.}; c=${x//+([[:space:]])/ }`},
		{"case of letters", `x=$(printf 'the quick brown fox %.0s' {1..5000}); for i in {1..10}; do a=${x^^} b=${x^}; done`},
		{"splitting", `x=$(printf 'the quick brown fox %.0s' {1..5000}); for i in {1..5}; do set -- $x; done`},
		{"arrays", `for i in {1..2000}; do a[i]=$i; done; for i in {1..20}; do b=("${a[@]}"); done`},
		{"tables", `declare -A m; for i in {1..2000}; do m[k$i]=$i; done; for i in {1..20}; do b=("${!m[@]}"); done`},
		{"printf", `for i in {1..1000}; do printf -v x '%05d %s %q\n' $i abc 'a b'; done`},
		{"read", `x=$(printf 'the quick brown fox\n%.0s' {1..2000}); while read -r a b c; do :; done <<< "$x"; while read a; do :; done <<< "$x"`},
	} {
		b.Run(c.name, func(b *testing.B) {
			prog, err := policy.ParseScript(c.script)
			if err != nil {
				b.Fatal(err)
			}
			l := quota.Lenient()
			l.Time = time.Hour
			for b.Loop() {
				s := shell.New(shell.Options{Commands: command.All(), Limiter: quota.NewLimiter(l), Parse: policy.ParseScript})
				if _, err := s.Run(b.Context(), &run.Request{Script: c.script, Program: prog}); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
		})
	}
}
