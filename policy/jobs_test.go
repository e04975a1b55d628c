package policy

import (
	"strings"
	"testing"
)

func TestBackground(t *testing.T) {
	p := hostPolicy()
	check(t, p, []string{
		"sleep 1 &",
		"make & wait",
		"sleep 100 & sleep 100",
		"ls > out.txt & wait; cat out.txt",
		"(cd src && make) & (cd lib && make) & wait",
		"cd src & cat README.md",
		"for f in a b c; do wc -l $f & done; wait",
		"python3 server.py & p=$!; curl http://localhost:8080/; kill $p; wait $p",
		"sleep 5 & kill $!",
		`sleep 5 & kill -TERM "$!"`,
		"sleep 5 & kill -s INT %1; wait -n",
		"sleep 5 & kill -9 %sleep; kill %%; kill -- %1",
		"jobs; jobs -l; kill -l",
		"f() { sleep 1 & wait $!; }; f",
		"x=$(sleep 1 & echo hi); echo \"$x\"",
		"{ grep -r x . | sort > o1; } & grep -r y . | sort > o2; wait; diff o1 o2",
	}, Allow)
	for _, src := range []string{
		"ls & touch /outside", "touch /outside & ls", "rm -rf x & ls", "cd src & cat ../x", "cd src && ls & cat ../x",
		"f() { ls; } & f",
		"kill 1234", "kill -9 1", "kill 0", "kill -9 -1", "kill -- -1", "kill -1 -1", "kill $$", "kill $PPID",
		"kill $(cat pid)",
		"p=1234; kill $p", "kill ${!:-1}", "sleep 1 & kill $! 1", "read p; kill $p", "sleep 1 & p=$!; p=1; kill $p",
		"x=$(cat f); kill %$x",
		"env kill %1", "sleep 1 & command kill $!", "echo 1 | xargs kill", "timeout 1 kill %1", "find . -exec kill {} +",
		"sleep 1 & disown", "disown", "bg", "fg", "jobs -x rm a", "wait -p PATH",
		"coproc ls", "cat <(ls)", "tee >(cat)", "eval 'ls &'",
		":(){ :|:& };:", "f() { sleep 1; f & }; f", "f() { g & }; g() { f; }; f",
	} {
		vs, err := p.Script(src)
		if err != nil || !finallyDenied(vs) {
			t.Errorf("%s: not denied for good: %v %+v", src, err, vs)
		}
	}
	check(t, Default("virtual", Options{}), []string{"ls &", "x=$(ls &)", "f() { ls & }"}, Deny)
}

// finallyDenied reports whether a script is stopped before any of it runs.
func finallyDenied(vs []Verdict) bool {
	for _, v := range vs {
		if v.Effect == Deny && !v.Late {
			return true
		}
	}
	return false
}

// What runs side by side is judged as if all that the script writes and links
// were there from the start.
func TestBackgroundHasNoOrder(t *testing.T) {
	p := hostPolicy()
	check(t, p, []string{
		"(sleep 1; cat L/../x) & ls",
		"cat sub/../x & wait",
		"find . -name '*.c' | xargs grep x & wait",
		"make & wait; cat out.log",
	}, Allow)
	check(t, p, []string{
		"(sleep 1; cat L/../x) & ln -s . L",
		"ln -s . L & cat L/../x",
		"(sleep 1; find . | xargs cat) & mkdir -p 'a /etc'; touch 'a /etc/passwd'",
		"cd a/b && tail -F ../../x & mv a/b c",
		"(sleep 1; patch < p) & echo x > p",
	}, Deny)
}

// Call sees the number that $! became. It relies on the walk before it, and on
// kill being the shell's own.
func TestKillAfterExpansion(t *testing.T) {
	p := hostPolicy()
	for _, c := range []struct {
		cmd  string
		want Effect
	}{
		{"kill 4711", Allow}, {"kill %1", Allow}, {"kill -TERM 4711", Allow}, {"kill -s INT 4711 %2", Allow},
		{"kill 0", Deny}, {"kill -9 -1", Deny}, {"kill -- -4711", Deny}, {"kill x", Deny}, {"kill /bin/sh", Deny},
		{"env kill 4711", Deny}, {"command kill 4711", Deny}, {"nohup kill 4711", Deny}, {"killall x", Deny},
		{"pkill x", Deny},
	} {
		if v := p.Call(strings.Fields(c.cmd)); v.Effect != c.want || c.want == Deny &&
			(v.Why == "" || v.Hint == "" || v.Where == "") {
			t.Errorf("%s: %+v", c.cmd, v)
		}
	}
	if v := Default("container", Options{}).Call([]string{"kill", "%1"}); v.Effect != Deny {
		t.Errorf("container: %+v", v)
	}
}
