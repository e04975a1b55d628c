package policy

import (
	"strings"
	"testing"

	"hako/run/fault"
)

func TestLate(t *testing.T) {
	p := hostPolicy()
	cases := []struct {
		src    string
		effect Effect
		late   bool
	}{
		{"ls src", Allow, false},
		{`echo "$x"`, Allow, true},
		{"$CMD x", Deny, true},
		{"$(echo ls | cat) x", Allow, false},
		{"$(printf 'echo\\ncat' | tail -1) x", Deny, true},
		{"$(cat names) x", Deny, true},
		{"X=ls; $X src", Allow, false},
		{"X=touch; $X /etc/x", Deny, false},
		{"X='ls -l'; $X", Allow, false},
		{"if true; then X=ls; else X=cat; fi; $X a", Deny, true},
		{"cat $(cat names)", Deny, true},
		{"cat $(find . -name x)", Allow, true},
		{"cat $(echo a.txt)", Allow, false},
		{"for f in *.txt; do cat $f; done", Allow, false},
		{"cat list | $CMD", Deny, false},
		{"cat ../$x", Deny, true},
		{`git commit -m "see $HOME"`, Allow, true},
		{"cat $HOME/x", Deny, true},
		{"cat $PWD/x", Allow, true},
		{"cat names | xargs cat", Deny, false},
		{"echo hi > $f", Allow, true},
		{"read f; echo hi > $f", Deny, true},
	}
	for _, c := range cases {
		vs, err := p.Script(c.src)
		if err != nil || len(vs) == 0 {
			t.Errorf("%s: %v, %v", c.src, err, vs)
			continue
		}
		last := vs[len(vs)-1]
		for _, v := range vs {
			if v.Effect == Deny || len(v.Argv) > 0 && v.Argv[0] == ">" {
				last = v
			}
		}
		if last.Effect != c.effect || last.Late != c.late {
			t.Errorf("%s: %s late=%t, want %s late=%t: %+v", c.src, last.Effect, last.Late, c.effect, c.late, vs)
		}
	}
}

func TestLateWordsAreShownAsWritten(t *testing.T) {
	vs, err := hostPolicy().Script(`$CMD "a $b" 'c d'`)
	if err != nil || len(vs) != 1 {
		t.Fatal(vs, err)
	}
	if got := strings.Join(vs[0].Argv, "|"); got != `$CMD|"a $b"|c d` {
		t.Errorf("got %s", got)
	}
}

func TestDirectoriesAreFollowed(t *testing.T) {
	p := hostPolicy()
	allowed := []string{
		"cd src && cat ../README.md",
		"cd src/a && cat ../../README.md && cd .. && ls",
		"cd src || exit 1; cat ../README.md",
		"cd src || { echo no; exit 1; }; cat ../README.md",
		"if cd src; then cat ../README.md; fi",
		"(cd src && ls ..); cat README.md",
		"cd src && (cd a && cat ../../README.md)",
		"cd src && f=a.txt && cat $f",
		"f() { cd src && cat ../a; }; f",
	}
	denied := []string{
		"cd src; cat ../README.md; cat ../../x",
		"cd nonexistent; cat ../outside/secret.txt",
		"cd src && cat ../../x",
		"cd src && cd .. && cd ..",
		"cd src | true; cat ../x",
		"(cd src); cat ../x",
		"cd src || true; cat ../x",
		"! cd src && cat ../x",
		"f() { cd ..; }; cd src && f && f",
		"while true; do cd ..; done",
		"cd src && for i in 1 2; do cd ..; done",
	}
	check(t, p, allowed, Allow)
	check(t, p, denied, Deny)
}

func check(t *testing.T, p *Policy, scripts []string, want Effect) {
	t.Helper()
	for _, src := range scripts {
		if vs, err := p.Script(src); err != nil || Strictest(vs) != want {
			t.Errorf("%s: want %s: %v %+v", src, want, err, vs)
		}
	}
}

func TestFunctions(t *testing.T) {
	p := hostPolicy()
	check(t, p, []string{
		"f() { cat \"$1\"; }; f a.txt",
		"f() { local x=$1; shift; echo \"$x\" \"$@\"; }; f a b c",
		"f() { g \"$@\"; }; g() { wc -l \"$@\"; }; f a b",
		"fact() { if [ $1 -le 1 ]; then echo 1; else fact $(($1-1)); fi; }; fact 5",
		"f() { cat \"$1\"; }",
	}, Allow)
	check(t, p, []string{
		"f() { cat \"$1\"; }; f /etc/passwd",
		"f() { if [ -n \"$1\" ]; then cat \"$1\"; else f /etc/passwd; fi; }; f",
		"ls() { touch /x; }; ls",
		"if true; then cat() { echo; }; fi; cat /etc/passwd",
		"cat() { echo; }; unset -f cat; cat /etc/passwd",
		"cat() { echo; }; command cat /etc/passwd",
		"f() { touch /x; }",
		"g; g() { ls; }",
		// The list after a declaration runs at once, not when the function is called.
		"printf '%s' \"$X\" > p.diff; patch -p1 < p.diff",
		"f() { :; } && printf '%s' \"$X\" > p.diff; patch -p1 < p.diff",
		"true || f() { :; } && printf '%s' \"$X\" > p.diff; patch -p1 < p.diff",
	}, Deny)
	container := Default("container", Options{Root: "/workspace"})
	check(t, container, []string{`c=rm; f() { :; } && "$c" -rf x; c=ls`}, Deny)
}

func TestProfiles(t *testing.T) {
	virtual := Default("virtual", Options{})
	check(t, virtual, []string{"curl x", "rm -rf /", "cat /etc/passwd > /x", "eval ls", "$x y", "LD_PRELOAD=x ls",
		"echo {a,b}{c,d}{e,f}{g,h}{i,j}{k,l}{m,n}{o,p}{q,r}",
		"x='a[$(ls)]'; echo $((x))", "cd / && ls ..", "f() { f; }; f", "declare -n r=x; export -n r; declare -f"}, Allow)
	check(t, virtual, []string{"ls &", "coproc ls", "cat <(ls)", "tee >(cat)", "x=$(ls &)"}, Deny)
	container := Default("container", Options{Root: "/workspace"})
	check(t, container, []string{"npm test", "cat /etc/os-release", "find / -name x", "FOO=1 make", "git commit",
		"env A=1 pytest", "find . -delete", "make > /tmp/log 2>&1"}, Allow)
	check(t, container, []string{"sudo ls", "rm -rf /", "env rm -r -f x", "find . -exec rm -rf {} +", "sh -c 'sudo ls'",
		"xargs ssh", "ssh x", "$x", "time dd"}, Deny)
	if virtual.Profile() != "virtual" || container.Root() != "" || hostPolicy().Root() != testRoot {
		t.Error("a profile does not know itself")
	}
	deny := mustParse(t, "deny curl # not here")
	check(t, virtual.With(deny), []string{"curl x", "env curl x", "command curl x", "eval 'curl x'", "sh -c 'curl x'",
		"ls | xargs curl"}, Deny)
	check(t, virtual.With(deny), []string{"ls", "wget x", "env ls"}, Allow)
}

func TestRedirect(t *testing.T) {
	p := hostPolicy()
	cases := []struct {
		op, path string
		want     Effect
	}{
		{">", "out.txt", Allow}, {">>", "a/b", Allow}, {"<", "in", Allow}, {">", "/dev/null", Allow}, {">&", "2", Allow},
		{"<&", "-", Allow},
		{">", testRoot + "/x", Allow}, {">", "/etc/x", Deny}, {"<", "../x", Deny}, {">", "/dev/tcp/h/1", Deny},
		{">&", "../x", Deny},
		{"<", "/proc/self/environ", Deny}, {">", ".git/hooks/x", Deny}, {"<", ".git/config", Allow}, {">", "", Deny},
	}
	for _, c := range cases {
		if v := p.Redirect(c.op, c.path); v.Effect != c.want || c.want == Deny && (v.Why == "" || v.Hint == "") {
			t.Errorf("%s %s: %+v", c.op, c.path, v)
		}
	}
}

func TestAtAndResolve(t *testing.T) {
	p := hostPolicy()
	if v := p.Call([]string{"cat", "../x"}); v.Effect != Deny {
		t.Errorf("%+v", v)
	}
	if v := p.At(testRoot + "/src").Call([]string{"cat", "../x"}); v.Effect != Allow {
		t.Errorf("%+v", v)
	}
	linked := Default("host", Options{Root: testRoot, Resolve: func(path string) string {
		return strings.Replace(path, testRoot+"/link", testOut, 1)
	}})
	if v := linked.Call([]string{"cat", "link/secret.txt"}); v.Effect != Deny {
		t.Errorf("%+v", v)
	}
}

// A link inside the root may lead to another place inside; .. behind it is
// read from there.
func TestClimbingBehindALink(t *testing.T) {
	links := map[string]string{testRoot + "/self": testRoot, testRoot + "/deep": testRoot + "/a/b/c"}
	resolve := func(path string) string {
		for link, to := range links {
			if path == link || strings.HasPrefix(path, link+"/") {
				return to + path[len(link):]
			}
		}
		return path
	}
	p := Default("host", Options{Root: testRoot, Resolve: resolve})
	for _, c := range []struct {
		dir, file string
		want      Effect
	}{
		{"", "self/x", Allow}, {"", "deep/../x", Allow}, {"", "a/../x", Allow}, {"", testRoot + "/deep/../x", Allow},
		{"/deep", "../x", Allow},
		{"", "self/../x", Deny}, {"", "deep/../../x", Deny}, {"", "./self/../x", Deny},
		{"", testRoot + "/self/../root/x", Allow}, {"", testRoot + "/self/../x", Deny}, {"", "deep/../../../../x", Deny},
		{"", "a/../self/../x", Deny}, {"/self", "../x", Deny}, {"/self", "x/../../y", Deny}, {"/deep", "../../../../x", Deny},
	} {
		q := p.At(testRoot + c.dir)
		if v := q.Call([]string{"cat", c.file}); v.Effect != c.want {
			t.Errorf("in %q cat %s: %+v", c.dir, c.file, v)
		}
		if v := q.Redirect(">", c.file); v.Effect != c.want {
			t.Errorf("in %q > %s: %+v", c.dir, c.file, v)
		}
	}
}

func TestSyntaxErrors(t *testing.T) {
	_, err := hostPolicy().Script("ls\necho 'a")
	if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "parse script 2:6:") {
		t.Errorf("%v", err)
	}
	if _, err := ParseScript("echo ("); err == nil || strings.Contains(err.Error(), "foo") {
		t.Errorf("the parser speaks of functions that are not there: %v", err)
	}
}

// Whoever is refused learns what to do instead.
func TestHints(t *testing.T) {
	p := hostPolicy()
	cases := []struct{ cmd, why, where, hint string }{
		{"nonesuch", "no rule allows it", "no rule", "to permit it, add a rule: allow nonesuch"},
		{"grpe x", "no rule allows it", "no rule", "did you mean grep? to permit it, add a rule: allow grpe"},
		{"cat /etc/passwd", "/etc/passwd is outside of the root", "cat: path", "use a path inside " + testRoot},
		{"sort --compress-pr=x f", "the option --compress-pr is not on the list of options known to be safe",
			"sort: --compress-pr", "leave --compress-pr out"},
		{"sort --uniq f", "abbreviated options are refused", "sort: --uniq", "write --unique in full"},
		{"./ls", "programs are run by name, not by path", "path as name",
			"use the name of an installed program, without a slash"},
		{"GIT_PAGER=x git log", "GIT_PAGER controls programs; only harmless variables may be exported",
			"environment GIT_PAGER", "leave GIT_PAGER as it is, or pass the value as an argument"},
		{"$x", "the command's name is only known at run time", "command name", "write the name out"},
		{"sudo ls", "raises privileges", "", "do it without more rights, or ask a person"},
		{"git -c alias.x='!id' x", "", "", ""},
	}
	for _, c := range cases {
		vs, err := p.Script(c.cmd)
		if err != nil || len(vs) == 0 {
			t.Fatal(c.cmd, err)
		}
		v := vs[0]
		if v.Effect != Deny || c.why != "" && v.Why != c.why || c.where != "" && v.Where != c.where || c.hint != "" &&
			v.Hint != c.hint {
			t.Errorf("%s: %+v", c.cmd, v)
		}
	}
}

// A user's own rule opens what the knowledge of a program keeps shut, but
// only when it names the option.
func TestRuleNamesAnOption(t *testing.T) {
	p := hostPolicy().With(mustParse(t, "allow find -delete # we mean it\nallow custom"))
	check(t, p, []string{"find . -name '*.o' -delete", "custom --any -x y"}, Allow)
	check(t, p, []string{"find .. -delete", "find . -fprint x", "custom /etc/passwd", "custom --out=../x",
		"custom -o/etc/x"}, Deny)
}

// A tree that was judged is executed, perhaps by several at once: judging
// does not change it.
func TestProgramLeavesTheTreeAlone(t *testing.T) {
	src := "x={a,b}; for f in {a,b}{c,d}; do echo ${f%a} \"$(echo {1..3})\"; done | xargs ls"
	f, err := ParseScript(src)
	if err != nil {
		t.Fatal(err)
	}
	p := hostPolicy()
	done := make(chan int)
	for range 4 {
		go func() { done <- len(p.Program(f)) }()
	}
	first := <-done
	for range 3 {
		if n := <-done; n != first {
			t.Errorf("%d verdicts, then %d", first, n)
		}
	}
}
