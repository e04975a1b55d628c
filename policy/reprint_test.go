package policy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// T stands for a command that the policy of these tests denies and that leaves a
// trace if it runs nevertheless.
const trace = "touch trace"

// tricks are scripts that some shell and the parser, or two shells, may read
// differently.
var tricks = []string{
	"ls \\\r\nT", "ls '\\\r\n'; T", "!(T)", "true; !(T)", "true && !(T)", "echo a\r\nT", "cat <<E\r\n$(T)\nE\n",
	"cat <<'E'\nE\r\nT\nE\n", "cat <<'E'\r\nE\nT\n",
	"cat <<'E\\\nF'\nE\nT\nF\n", "cat <<E\\\nOF\nEOF\nT\nE\\\nOF\n", "echo a #\\\nT", "# \\\nT", "echo a # b \\\\\nT",
	"((T))", "( (T))", "((T) )", "echo $((T))", "echo $( (T))", "echo $((T) )",
	"echo \"${x:-'}\"; T #'}\"", "echo \"${x:-'}'}\"; T", "echo \"${x:-'$(T)'}\"", "echo ${x:-'$(T)'}",
	"echo \"${x#'$(T)'}\"", "echo \"${x:-`T`}\"", "cat <<E\n${x:-'$(T)'}\nE", "cat <<E\n${x:-'}\n$(T)\n'}\nE",
	"cat <<E\n\"$(T)'\nE", "cat <<'E'\n$(T)\nE",
	"echo ${x#'}\nT\n#'}", "x=${x#\\'}\nT\n: \\'", "echo ${x:-a'b}\nT\n#'}", "echo \"${x:-\"$(T)\"}\"",
	"echo \"${x:+'\"'}\"; T #\"", "echo \"${x/'}/y}\"; T #'}\"", "echo \"${x/a/'}\"; T #'}\"", "echo \"${x//'$(T)'/}\"",
	"echo \"${x:-$'}'}\"; T", "echo \"${x:-$'\\''$(T)}\"",
	"echo a &>out T", "echo a &>>out T", "echo a >&out T", "ls |& cat", "echo $'\\c\\'\nT\n#'", "echo $'a\\'b'; T",
	"echo $'a\\'; T; echo \\'b'", "echo $\"a$(T)\"", "echo \"`echo \"\nT\n\"`\"", "echo `echo \\`T\\``",
	"echo `echo '\\`T\\`'`", "echo \"`echo \\\"\\$(T)\\\"`\"", "echo `echo \\\\\\`T\\\\\\``",
	"[[ a || T ]]", "[[ a == @($(T)) ]]", "[[ a == +(`T`) ]]", "[[ a == @(b|c) ]]", "[[ a =~ ($(T)) ]]", "[[ a < trace ]]",
	"[[ a > trace ]]", "[[ a =~ [)] ]]; T", "[[ a =~ \"(\" ]]", "[[ $(T) ]]", "case a in @($(T))) ;; esac",
	"case a in (a) T;; esac", "case a in\n#)\nT\n) ;; esac",
	"function f { T; }; f", "function f() { T; }", "f() { T; }; f", "time -p -- T", "time -- T", "time ! T", "coproc T",
	"coproc x { T; }", "select i in $(T); do :; done </dev/null", "for ((i=0;i<$(T);i++)); do :; done", "a=([$(T)]=1)",
	"a[$(T)]=1", "echo $[ $(T) ]", "echo {a,$(T)}", "echo {a,b}$(T)", "echo ${x@Q}$(T)", "echo ${a[$(T)]}",
	"cat <<< $(T)", "cat <(T)", "cat <<E\n`T`\nE", "cat <<-E\n\t$(T)\n\tE", "cat <<\"E\"\"F\"\nEF\nT\nE\n",
	"cat << \\E\n$(T)\nE", "cat <<E; T\nE", "cat <<A <<B\nA\nT\nB\nT", "echo a;#;T", "echo a#\\\nT", "echo 'a\\'; T #'",
	"echo \"a\\\"\"; T #\"", "echo \\\"; T #\"", "{ T; }", "if T; then :; fi", "echo a\\\n; T", "echo \\#\\\nT",
	"echo ${#x}\nT", "echo $#\\\nT", "echo $(# )\nT)", "echo $(case a in a) T;; esac)", "echo `# T`", "echo a\x00\nT",
	"echo a\vT", "echo a\fT", "echo\u00a0a; T", "alias echo=T", "! T", "!\tT", "!T", "!!T", "echo ^T", "~T",
	"echo ${x:-{a,$(T)}}", "echo \"$((a[$(T)]))\"", "echo $((`T`))", "echo \"${a[`T`]}\"", "echo ${!x:-$(T)}",
	"echo ${x:$(T)}", "x=$(T)", "x+=$(T)", "x=a T", "x='a' y=\"b\" T", ">out T", "2>&1 T", "<in T", "{fd}>out T",
	"echo a|T", "echo a||T", "echo a&&T", "true&T", "true;T", "true\nT", "(T)", "$(T)", "`T`", "\"$(T)\"",
	"PS4='$(T) '; set -x; :", "PS4='$(T)' bash -xc true", "bash -c 'echo a #\\\nT'", "bash -c 'ls \\\r\nT'",
	"bash -c '!(T)'", "sh -c '((T))'", "dash -c '((T))'", "sh -c 'echo a &>out T'",
	"sh -c 'echo \"${x:-'\"'\"'}\"; T #'\"'\"'}\"'", "sh -c '[[ a || T ]]'",
	"sh -c 'echo $'\"'\"'a\\'\"'\"'; T; echo \\'\"'\"'b'\"'\"''", "sh -c 'echo a #\\\nT'", "eval 'T'", "trap 'T' EXIT",
	"hash -p /bin/touch ls; ls trace", "BASH_CMDS[ls]=/bin/touch; ls trace", "jobs -x T",
	"mapfile -C 'T #' -c 1 a < /etc/hostname", "[ -v 'a[$(T)]' ]", "test -v 'a[$(T)]'", "let 'a[$(T)]=1'",
	"declare -a a='($(T))'", "a='($(T))'; declare -a b=$a", "declare -a \"b=(\\$(T))\"", "read 'a[$(T)]' < /etc/hostname",
	"unset 'a[$(T)]'", "printf -v 'a[$(T)]' x", "declare 'a[$(T)]=1'", "export 'a[$(T)]=1'", "readonly 'y[$(T)]=1'",
	"true & wait -n -p 'a[$(T)]'",
	"x='a[$(T)]'; echo $((x))", "x='a[$(T)]'; (( x ))", "x='a[$(T)]'; echo ${y:x}", "x='a[$(T)]'; [[ x -eq 1 ]]",
	"x='a[$(T)]'; declare -i y=x", "x='a[$(T)]'; b[x]=1", "x='$(T)'; echo ${x@P}", "[[ 'a[$(T)]' -eq 1 ]]",
	"[[ -v 'a[$(T)]' ]]", "declare -n r='a[$(T)]'; echo $r", "declare -n r=PS4; r='$(T)'; set -x; :",
	"declare -n r=BASH_CMDS; r[ls]=/bin/touch; ls trace", "for PS4 in '$(T)'; do set -x; :; done",
	"read -r PS4 <<< '$(T)'; set -x; :", "printf -v PS4 '$(%s)' 'T'; set -x; :", "echo ${PS5:=a} ${PS4:='$(T)'}",
	"export 'PS4=$(T)'; bash -xc :", "env 'PS4=$(T)' bash -xc :", "declare -x PS4='$(T)'; bash -xc :",
	"command export PS4='$(T)'; bash -xc :", "local -n q=PS4",
}

// Whatever the container's shell makes of a script that was let through, it does
// nothing that the policy denies: not bash, and not a sh that is another shell.
func TestShellsReadWhatWasJudged(t *testing.T) {
	p := containerPolicy().With(mustParse(t, "deny touch"))
	for _, shell := range [][]string{{"bash"}, {"dash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			t.Logf("skipped: there is no %s here", shell[0])
			continue
		}
		for _, trick := range tricks {
			tryTrick(t, p, shell, strings.ReplaceAll(trick, "T", trace))
		}
	}
}

func tryTrick(t *testing.T, p *Policy, shell []string, src string) {
	file, err := ParseScript(src)
	if err != nil || !goes(p.Program(file)) {
		return
	}
	text, v := Reprint(file)
	if v.Effect != Allow {
		return
	}
	dir := t.TempDir()
	cmd := exec.Command(shell[0], append(shell[1:], "-c", text)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "BASH_VERSION=5"}
	out, _ := cmd.CombinedOutput()
	if _, err := os.Lstat(filepath.Join(dir, "trace")); err == nil {
		t.Errorf("%v runs %q, which was judged as harmless: %q\n%s", shell, src, text, out)
	}
}

// FuzzReprint holds that what is handed on is read as what was judged, and that
// spelling it once more changes nothing.
func FuzzReprint(f *testing.F) {
	for _, s := range tricks {
		f.Add(s)
	}
	for _, c := range readCorpus(f, "benign-own.jsonl") {
		f.Add(c.Command)
	}
	f.Fuzz(func(t *testing.T, src string) {
		file, err := ParseScript(src)
		if err != nil {
			return
		}
		text, v := Reprint(file)
		if v.Effect != Allow {
			return
		}
		text = strings.TrimPrefix(text, needsBash)
		again, err := parse(text)
		if err != nil {
			t.Fatalf("%q became %q: %v", src, text, err)
		}
		if shapeOf(again) != shapeOf(file) || strings.Contains(text, "\\\r\n") {
			t.Fatalf("%q became %q", src, text)
		}
	})
}
