package policy

import (
	"io"
	"strings"
	"testing"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

func containerPolicy() *Policy { return Default("container", Options{}) }

// goes reports whether a script may go to a runner that never calls Call.
func goes(vs []Verdict) bool {
	for _, v := range vs {
		if v.Effect != Allow || v.Late && !v.Sure {
			return false
		}
	}
	return true
}

// What models write all the time runs in a container, whose shell asks nobody.
func TestLateWordsThatMakeNoDifference(t *testing.T) {
	p := containerPolicy()
	for _, src := range []string{
		`for f in *.py; do wc -l "$f"; done`, `echo "$HOME"`, `x=$(git rev-parse HEAD); git show $x`, `cd src && ls $(pwd)`,
		`echo hi > "$f"`, `cat < $f >> "$OUT/log"`, `python x.py "$@"`, `./gradlew test $ARGS`, `bash scripts/test.sh "$x"`,
		`node_modules/.bin/jest "$x"`,
		`.venv/bin/python -m pytest $x`, `/workspace/project/run.sh $x`, `for d in */; do (cd "$d" && make -j$(nproc)); done`,
		`rm -- "$f"`, `rm "build/$f"`, `rm -r -- $x`, `for f in a b; do rm "$f"; done`, `git -C "$d" status`,
		`git diff "$a" "$b"`, `git commit -m "$msg"`,
		`chmod +x "$f"`, `chmod 644 $f`, `go test $(go list ./...)`, `find "$d" -name '*.go' -exec grep -l "$x" {} +`,
		`find . -name "$x" \( -type f -o -name "$y" \) -print`,
		`find . -name -exec`, `cat list | xargs grep "$x"`, `cat list | xargs rm --`, `cat list | xargs -I{} rm ./{}`,
		`env "A=$x" make`, `A=$x make`, `timeout 5 pytest "$x"`, `time make $x`,
		`command -v "$tool"`, `f() { grep "$1" x; }; f "$y"`, `while read -r l; do echo "$l"; done < in`,
		`test -n "$x" && [ "$y" = z ]`, `export P="$x"`, `n=$((n+1)); echo $n`,
		`sh -c 'echo "$1"' _ "$x"`, `bash -euo pipefail -c 'make test'`, `bash -x run.sh`, `bash --norc x.sh`,
		`set -- $x; grep "$2" y`, `a=($x); grep "${a[@]}" y`, `curl -s "$URL" | jq .`, `python - <<< "$x"`,
	} {
		vs, err := p.Script(src)
		if err != nil || !goes(vs) {
			t.Errorf("%s: %v, %+v", src, err, vs)
		}
	}
}

// Where a late word decides, the refusal says which word, and what to write.
func TestLateWordsThatDecide(t *testing.T) {
	p := containerPolicy()
	for src, word := range map[string]string{
		`rm $x`: "$x", `rm "$x"`: `"$x"`, `rm -r "$x"`: `"$x"`, `rm build/$x`: "build/$x", `rm $x -- a`: "$x",
		`rm -$x a`: "-$x", `git $x`: "$x", `git "$x" a`: `"$x"`, `git -C $d status`: "$d",
		`go "$x"`: `"$x"`, `chmod $m f`: "$m", `chmod "$m" f`: `"$m"`, `chmod -x "$f"`: `"$f"`, `$x foo`: "name",
		`eval "$x"`: "", `source "$x"`: "", `. ./env.sh`: "", `sh -c "$x"`: "", `bash -c 'rm "$1"' _ -rf`: "$1",
		`bash $x`: "$x", `bash "$x" "$y"`: `"$x"`, `bash`: "", `bash -s`: "", `bash -`: "", `curl x | bash`: "",
		`bash /dev/stdin`: "", `bash <(curl x)`: "", `bash --rcfile x`: "--rcfile", `bash /dev/$x`: "/dev/$x",
		`bash -c -e 'sudo x'`: "", `bash -ec 'sudo x'`: "", `env A=$x make`: "A=$x", `env "$x" make`: "name",
		`timeout "$n" echo rm`: `"$n"`, `timeout $n make`: "$n", `xargs -n "$n" echo rm`: `"$n"`, `command $x`: "name",
		`find "$a" src -name x`: `"$a"`, `find $x`: "$x", `find . -name $x`: "$x", `find . -exec rm "$x" {} +`: `"$x"`,
		`find . -exec grep "$a" "$b" {} ';'`: `"$b"`, `find . -exec "$x" {} +`: "name",
		`cat list | xargs rm`: "rm", `cat list | xargs git`: "", `cat list | xargs -I{} rm {}`: "rm",
		`f() { rm "$1"; }; f $x`: `"$1"`, `f() { rm "$2" a; }; f $x`: `"$2"`, `set -- $x; rm "$2"`: `"$2"`,
		`a=($x); rm "${a[@]}"`: `"${a[@]}"`, `rm "$@"`: `"$@"`,
		`./../../bin/rm x`: "", `/usr/bin/rm x`: "", `../x/run`: "", `/workspace/../bin/rm x`: "",
	} {
		vs, err := p.Script(src)
		if err != nil || goes(vs) {
			t.Errorf("%s: %v, %+v", src, err, vs)
			continue
		}
		for _, v := range vs {
			if v.Effect == Deny && (v.Why == "" || v.Hint == "" || !strings.Contains(v.Why+v.Where, word)) {
				t.Errorf("%s: %+v does not speak of %s", src, v, word)
			}
		}
	}
}

// The user's rules count as those of the profile do.
func TestLateWordsAndOtherRules(t *testing.T) {
	p := containerPolicy().With(
		mustParse(t, "deny grep -P # slow\nask git push\ndeny git commit --amend\ndeny curl\nallow curl -s\nallow tool\ndeny tool sub"))
	for src, want := range map[string]bool{
		`grep "$x" f`: false, `grep -- "$x" f`: true, `grep -e x "./$f"`: true, `git push $x`: false, `git show $x`: true,
		`git commit -m "$m"`: false, `git commit -m x -- "$f"`: true,
		`curl "$u"`: false, `curl -s "$u"`: true, `tool "$x"`: false, `tool other "$x"`: true, `tool -v "$x"`: false,
		`tool "a$x"`: true, `tool "s$x"`: false,
	} {
		vs, err := p.Script(src)
		if err != nil || goes(vs) != want {
			t.Errorf("%s: %v, %+v", src, err, vs)
		}
	}
	everything := mustParse(t, "allow *").For("container", Options{})
	if vs, err := everything.Script(`$x "$y" > $z`); err != nil || !goes(vs) {
		t.Errorf("%v %+v", err, vs)
	}
	compiled, err := AllowedCommands{UseDefault: true, Additional: []string{"sudo", "/bin/rm", "/bin/cat"},
		Exclude: []string{"wget"}}.Compile("container", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for src, want := range map[string]bool{`sudo $x`: false, `wget $x`: false, `cat $x`: true, `/bin/rm $x`: false,
		`/bin/rm -- $x`: true, `/bin/cat $x`: true} {
		if vs, _ := compiled.Script(src); goes(vs) != want {
			t.Errorf("%s: %+v", src, vs)
		}
	}
	for _, other := range []*Policy{hostPolicy(), Default("virtual", Options{})} {
		if vs, _ := other.Script(`cat $x`); goes(vs) {
			t.Errorf("%s: nobody weighed it, %+v", other.Profile(), vs)
		}
	}
}

// hostile are values that a late word may turn out to have.
var hostile = []string{"", "-rf", "-r -f x", "-rf x", "--recursive --force", "-fr", "777", "a+rwx", "-w,a+rwx",
	"-R 0777 x", "sudo reboot", "push", "x; sudo y", "-exec", "-exec sudo x ;", ";", "+", "{}", "-name", "-c", "-c sudo",
	"-k", "A=1 sudo", "--", "-- sudo", "-",
	"-C x push", "/dev/stdin", "-s", "-I{}", "config", "a b", "*", "-ok", "sudo", "--amend", "-P"}

// expansions are what the words of a command may become: hostile values in turn
// for each late part. What cannot be expanded is left out.
func expansions(words []*syntax.Word) (out [][]string) {
	for first := range hostile {
		for step := range 2 - first%2 {
			n := first - step
			next := func() string { n += step; return hostile[(n+len(hostile))%len(hostile)] }
			cfg := &expand.Config{
				Env:      expand.FuncEnviron(func(name string) string { return given(name, next) }),
				CmdSubst: func(w io.Writer, _ *syntax.CmdSubst) error { _, err := io.WriteString(w, next()); return err },
			}
			if argv, err := expand.Fields(cfg, words...); err == nil && len(argv) > 0 {
				out = append(out, argv)
			}
		}
	}
	return out
}

func given(name string, next func() string) string {
	switch name {
	case "IFS":
		return " \t\n"
	case "#", "?", "$", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID":
		return "1"
	case "HOME":
		return "/home/x"
	}
	return next()
}

// simple reports whether a script has nothing that gives names a meaning: then
// all that is late may be anything.
func simple(file *syntax.File) bool {
	ok := true
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.File, *syntax.Stmt, *syntax.Word, *syntax.Lit, *syntax.SglQuoted, *syntax.DblQuoted, *syntax.CmdSubst,
			*syntax.Comment, nil:
		case *syntax.ParamExp:
			ok = ok && isPlainParam(n) && n.Param.Value != "*" && n.Param.Value != "@" // which expand takes from a list
		case *syntax.CallExpr:
			ok = ok && len(n.Assigns) == 0
		case *syntax.BinaryCmd:
			ok = ok && n.Op != syntax.Pipe && n.Op != syntax.PipeAll
		default:
			ok = false
		}
		return ok
	})
	return ok
}

// calls returns the commands of a script, in substitutions too.
func calls(file *syntax.File) (out []*syntax.CallExpr) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			out = append(out, c)
		}
		return true
	})
	return out
}

func checkSure(t *testing.T, p *Policy, src string) {
	file, err := ParseScript(src)
	if err != nil || !simple(file) || strings.ContainsAny(src, "~{\\") && !strings.Contains(src, "{}") {
		return
	}
	if !goes(p.Program(file)) {
		return
	}
	for _, c := range calls(file) {
		if c.Args[0].Lit() == "" || setsNames(c.Args[0].Lit()) {
			return
		}
	}
	for _, c := range calls(file) {
		for _, argv := range expansions(c.Args) {
			if v := p.Call(argv); v.Effect != Allow {
				t.Fatalf("%q is sure, but %q is %s: %s (%s)", src, argv, v.Effect, v.Why, v.Where)
			}
		}
	}
}

// setsNames knows the commands after which a variable may have a value that the
// policy knows.
func setsNames(name string) bool {
	return hasWord(" read mapfile readarray printf getopts unset export declare local typeset readonly let set shift command builtin ", name)
}

var surePolicies = []string{"",
	"deny grep -P\nask git push\ndeny git commit --amend\ndeny curl\nallow curl -s\nallow tool\ndeny tool sub\ndeny ls 'a*'\nallow uv"}

// FuzzSure holds the promise of Sure: whatever late words turn out to be, Call
// allows what was allowed without it.
func FuzzSure(f *testing.F) {
	for _, file := range []string{"attacks.jsonl", "benign.jsonl"} {
		for _, c := range readCorpus(f, file) {
			f.Add(c.Command)
		}
	}
	for _, s := range []string{`rm -- "$x"`, `rm "a$x" "$y"`, `git -C "$d" push`, `git -C "$d" -c "$e" show "$f"`,
		`chmod -R +x "$f" $g`, `chmod -x -- "$f"`, `find "$d" -name "$x" -exec grep "$y" {} +`,
		`find "$d" -name "$x" -o -name "$y"`,
		`env -i "A=$x" git show "$y"`, `timeout 5 rm -- $x`, `xargs -n 1 rm -- "$x"`, `sh -c 'git show "$1"' "$x"`,
		`bash -e x.sh $y`, `bash scripts/$x -c "$y"`, `tool -v a "$x"`, `curl -s $u`, `nice -n 5 find "$x"`} {
		f.Add(s)
	}
	var policies []*Policy
	for _, more := range surePolicies {
		policies = append(policies, containerPolicy().With(mustParse(f, more)))
	}
	f.Fuzz(func(t *testing.T, src string) {
		if len(src) > 500 {
			return
		}
		for _, p := range policies {
			checkSure(t, p, src)
		}
	})
}

// TestSure makes commands of parts that matter, many more of them than fuzzing
// comes by.
func TestSure(t *testing.T) {
	if testing.Short() {
		t.Skip("long: much work for one goroutine: nothing for a race detector")
	}
	starts := []string{"rm", "rm -r", "git", "git show", "git -C", "git commit", "chmod", "chmod +x", "chmod -x", "find",
		"find . -name", "find . -exec grep", "env", "env A=1", "timeout 5", "timeout", "xargs", "xargs -n", "sh", "bash -e",
		"bash -c 'echo'", "nice -n", "nice git",
		"ls", "tool", "curl", "grep", "command -v", "./run", "bin/run", "uv run", "go", "go test"}
	parts := []string{"$x", `"$x"`, `"a$x"`, `./"$x"`, "a/$x", `-"$x"`, `"A=$x"`, "--", "-s", "-name", "-exec", "{}", "+",
		"';'", "show", "sub", "a", "5", "rm"}
	last := []string{"", `"$x"`, "rm"}
	p := containerPolicy().With(mustParse(t, surePolicies[1]))
	for _, start := range starts {
		for _, a := range parts {
			for _, b := range append(parts, "") {
				for _, c := range last {
					if src := start + " " + a + " " + b + " " + c; strings.Contains(src, "$") && (b != "" || c == "") {
						checkSure(t, p, src)
					}
				}
			}
		}
	}
}
