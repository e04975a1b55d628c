package policy

import (
	"strings"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

var readOnlyYes = []string{
	"ls -la",
	"cat a.txt b.txt | head -n 3 | wc -l",
	"pwd && ls",
	"grep -rn 'a|b' src 2>/dev/null",
	"grep -c x f > /dev/null 2>&1 || echo none",
	"ls &>/dev/null",
	"wc -l < a.txt",
	"sort -u -k2 names | uniq -c",
	"cut -d: -f1 f | tr a-z A-Z",
	"cat <<EOF\nx $(ls)\nEOF",
	"grep x <<< \"a b\"",
	"find . -name '*.go' -type f -newer a",
	"find . -name '*.py' -exec grep -l x {} +",
	"find . -name '*.py' -exec wc -l {} \\; | sort -n",
	"find . -name '*.go' | xargs grep TODO",
	"find . -print0 | xargs -0 -n 5 ls -l",
	"ls | xargs -I{} stat {}",
	"rg -n TODO src",
	"du -sh *",
	"stat -c %s a; file a; diff -u a b",
	"tree -L 2",
	"git status -s",
	"git log --oneline -5 -- src",
	"git -C sub diff HEAD~1 --stat",
	"git --no-pager show HEAD:README.md",
	"git branch -a",
	"git branch --list 'feature/*'",
	"git tag -l",
	"git remote -v",
	"git stash list",
	"git config --get user.name",
	"git ls-files | wc -l",
	"git blame -L 1,5 f",
	"git rev-parse --abbrev-ref HEAD",
	"git reflog",
	"if [ -f a ]; then cat a; else echo no; fi",
	"test -d src && ls src",
	"(ls; pwd)",
	"{ ls; pwd; } | cat -n",
	"LC_ALL=C ls",
	"echo $(ls) \"$(pwd)\"",
	"cat \"$(ls -t | head -n 1)\"",
	"git stash show",
	"git stash list -p",
	"git show 'HEAD@{1}'",
	"stat --format=%s a",
	"sort --unique -n a",
	"echo ok >&2", "ls 2>&1 0<&-",
	"awk '{ brand = $1; print brand }' f",
	"jq '.known' f",
	"ls '~' \\~ a~",
	"cat < /dev/null",
	"printf '%d%%\\n' 5",
	"timeout 5 grep x f",
	"sed -n '1,5p' f",
	"sed 's/a/b/g' f",
	"awk '{print $1}' f",
	"awk -F: '$3 > 5 {print $1}' f",
	"jq '.a' f.json",
	"command -v python",
	"case a in b) ls;; *) pwd;; esac",
	"printf '%s\\n' a b",
	"sha256sum a b",
	"! grep -q x f",
}

var readOnlyNo = []string{
	"",
	"# only a comment",
	"touch a", "rm a", "cp a b", "mkdir d", "tee a", "ls | tee a",
	"ls > out.txt", "ls >> out.txt", "ls 2> err.txt", "ls &> all", "ls >| x", "cat <> f", "ls > \"$f\"", "ls >&out",
	"ls > /dev/tcp/a/1",
	"ls {fd}>/dev/null", "x=$(ls > out)", "echo \"$(touch a)\"", "cat <<EOF\n$(touch a)\nEOF",
	"x=1", "x=1; echo $x", "X=1 ls", "PATH=. ls", "LC_ALL=$(touch a) ls", "export LC_ALL=C", "declare x", "readonly x=1",
	"let x=1", "((x=1))", "echo $((x++))", "echo $((a[1]))", "echo ${x:=y}", "echo ${x@P}", "echo ${!x}", "echo ${a[i]}",
	"echo ${x:y}",
	"cd src", "cd src && ls", "pushd src",
	"ls &", "ls & wait", "coproc ls", "cat <(ls)",
	"f() { ls; }", "f() { ls; }; f", "for f in *; do cat $f; done", "while true; do ls; done",
	"$x", "$(echo ls)", "\"l\"$s",
	"./ls", "/bin/ls", "ls() { rm x; }; ls",
	"sort -o a a", "sort --output=a a", "sort -oa a", "sort $x", "sort *", "sort -T d a", "uniq a b", "uniq \"$x\"",
	"find . -delete", "find . -exec rm {} \\;", "find . -exec sort -o {} {} \\;", "find . -fprint x",
	"find . -ok cat {} \\;", "find $x", "find . -exec $x {} +",
	"xargs rm", "find . | xargs sort", "xargs -I cat cat x", "xargs -a f cat", "xargs find",
	"rg --pre cat x", "rg $x", "tree -o x", "file -C -m x", "file *", "date -s 10:00", "date 01010000", "hostname x",
	"git commit -m x", "git add .", "git branch new", "git branch -d x", "git branch -m a b", "git tag v1",
	"git tag -d v1", "git remote add a b", "git remote update", "git stash", "git stash pop", "git config user.name x",
	"git checkout x", "git fetch", "git push", "git diff --output=x", "git log $x", "git -c core.pager=x log",
	"git reflog expire --all", "git ls-remote", "git", "git nonesuch", "git $x",
	"sed -i s/a/b/ f", "sed 'w out' f", "sed s/a/b/w f", "sed -n $x f", "awk '{print > \"out\"}' f",
	"awk 'BEGIN{system(\"x\")}'", "awk \"$x\"",
	"printf -v x y", "tail -f log", "timeout 5 rm x", "env ls", "command ls", "nohup ls",
	"python3 -c 'print(1)'", "make -n", "npm ls", "curl https://x.example", "sh -c ls", "eval ls", "kill %1", "sleep 1",
	"mktemp", "shuf -o f f", "shuf $x", "read x", "test -v 'a[$(touch x)]'; touch x",

	// What git puts aside, and descriptors of the session.
	"git stash -- list", "git stash -- show", "git stash -q list", "git stash -p show", "git branch -- new",
	"git reflog -- expire",
	"echo x >&10", "echo x >&3", "cat <&3", "cat < /dev/fd/3", "cat < /dev/stdin", "cat /dev/fd/5", "cat < //dev/urandom",
	"head -c 4 /dev/urandom", "cat /proc/uptime", "cat /proc/../proc/uptime", "ls {x}<f", "cat < $(ls)",

	// Another answer although no file has changed.
	"date", "date +%N", "date +%F", "cal", "shuf a", "shuf -n 1 a", "sort -R a", "sort --random-sort a",
	"sort --sort=random a", "sort --sort random a", "uuidgen", "ps", "uptime", "free", "top", "w", "who", "printenv",
	"printenv HOME", "time ls",
	"ls $(date +%F)", "awk 'BEGIN { srand(); print rand() }'", "awk 'BEGIN { print systime() }'",
	"awk 'BEGIN { print strftime() }'", "awk 'BEGIN { print ENVIRON[\"x\"] }'", "jq -n now", "jq -n \"$(cat filter)\"",
	"jq -n $(cat filter)", "jq -n '$ENV.x'", "jq -n env.x", "printf '%(%s)T'",
	"find . -mmin -5", "find . -mtime +1", "find . -newermt yesterday", "fd --changed-within 1d x",
	"git log --since=yesterday", "git log --until 1.hour", "git log --date=relative", "git log --format=%ar",
	"git log '--pretty=%h %cr'", "git for-each-ref --format='%(committerdate:relative)'", "git show 'HEAD@{yesterday}'",
	"git show 'HEAD@{2 days ago}'",
	"stat -f .", "ls | xargs -P 4 cat", "ls | xargs --max-procs=2 cat", "find . -exec printenv {} +", "timeout 5 date",
	"test -v x", "[ -v x ]",

	// What a session has and another has not.
	"echo $x", "echo \"$x\"", "cat ${x}", "echo ${#x}", "echo \"${x:-y}\"", "ls $HOME",
	"echo $RANDOM $SECONDS $EPOCHREALTIME", "echo $$", "echo $?", "echo \"$@\"", "cat <<E\n$x\nE", "cat <<< $x", "ls ~",
	"ls ~/src", "cat < ~/a", "ls ~+", "LC_ALL=$x ls", "ls \"$(cat $x)\"", "case $x in a) ls;; esac", "ls a$x",
	"ls > /dev/null$x",
}

var declaringYes = []string{
	"f() { ls; }", "function date { echo; }", "ls; f() { :; }; ls", "(f() { :; })", "if true; then ls() { rm x; }; fi",
	"alias ls='rm x'", "unalias ls", "eval ls", "eval \"$x\"", "source a", ". ./a", "trap 'rm x' EXIT", "exec 3>f",
	"exec >f", "exec ls", "true {fd}>f", "set -f", "set -- a b", "shopt -s dotglob", "enable -n test", "hash -p /x ls",
	"command eval ls", "builtin set -f", "command -p . a", "command \"$x\" y", "builtin command shopt -s nullglob",
	"\\set -f", "'ev'al ls", "$x", "$(echo eval) ls", "\"s$t\" -f",
	"export LC_ALL=C", "export x", "declare -x LC_ALL=C", "readonly x=1", "typeset x", "LC_ALL=C", "IFS=:", "x=1 TZ=UTC",
	"A=(1 2)", "read IFS", "read -r x LANG", "read \"$x\"", "mapfile A", "printf -v x y", "printf -vx y", "unset LANG",
	"for IFS in a; do ls; done", "echo ${LANG:=C}", "((COLUMNS=1))", "((++LINES))", "let COLUMNS=1", "echo $((COLUMNS=4))",
}

var declaringNo = []string{
	"", "ls", "rm -r x; touch y", "x=1", "x=1; echo $x", "for f in *.go; do gofmt -l $f; done", "cd src && make",
	"LC_ALL=C sort f", "IFS=: read -r a b < f", "while read -r line; do echo $line; done < f", "python3 -c 'import os'",
	"echo set; echo 'f() { :; }'", "git config --get x", "sh -c 'f() { :; }'", "command -v eval", "command -V set",
	"unset x", "((i++))", "echo $((i + 1)) > f", "ls 3>f", "echo ${x:=y}", "printf '%s' -v",
}

func TestDeclares(t *testing.T) {
	for _, src := range declaringYes {
		if !Declares(parsed(t, src)) {
			t.Errorf("%q is said to leave nothing behind", src)
		}
	}
	for _, src := range declaringNo {
		if Declares(parsed(t, src)) {
			t.Errorf("%q is said to leave something behind", src)
		}
	}
	if !Declares(nil) {
		t.Error("what cannot be seen may be anything")
	}
}

// What reads only declares nothing, or reading would end reading.
func TestReadersDeclareNothing(t *testing.T) {
	for _, src := range readOnlyYes {
		if Declares(parsed(t, src)) {
			t.Errorf("%q", src)
		}
	}
}

func TestReadOnly(t *testing.T) {
	for _, p := range []*Policy{hostPolicy(), Default("virtual", Options{}), Default("container", Options{})} {
		for _, src := range readOnlyYes {
			if !p.ReadOnly(parsed(t, src)) {
				t.Errorf("%s: %q is said to do more than read", p.Profile(), src)
			}
		}
		for _, src := range readOnlyNo {
			if p.ReadOnly(parsed(t, src)) {
				t.Errorf("%s: %q is said to read only", p.Profile(), src)
			}
		}
	}
	if (*Policy)(nil).ReadOnly(parsed(t, "ls")) || hostPolicy().ReadOnly(nil) {
		t.Error("without a policy or a script there is no yes")
	}
}

func parsed(t testing.TB, src string) *syntax.File {
	t.Helper()
	f, err := ParseScript(src)
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return f
}

// FuzzReadOnly holds the promise by other means: what reads only has no writing
// redirection, and the walk of the policy sees nothing written either.
func FuzzReadOnly(f *testing.F) {
	for _, src := range append(readOnlyYes, readOnlyNo...) {
		f.Add(src)
	}
	for _, file := range []string{"attacks-own.jsonl", "benign-own.jsonl"} {
		for _, c := range readCorpus(f, file) {
			f.Add(c.Command)
		}
	}
	p := hostPolicy()
	f.Fuzz(func(t *testing.T, src string) {
		file, err := ParseScript(src)
		if err != nil || !p.ReadOnly(file) {
			return
		}
		syntax.Walk(file, func(n syntax.Node) bool {
			if r, ok := n.(*syntax.Redirect); ok && strings.Contains(r.Op.String(), ">") {
				if to := r.Word.Lit(); to != "/dev/null" && (to == "" || strings.Trim(to, "0123456789-") != "") {
					t.Fatalf("%q writes to %q", src, to)
				}
			}
			if _, ok := n.(*syntax.ParamExp); ok {
				t.Fatalf("%q looks at the session", src)
			}
			return true
		})
		if Declares(file) {
			t.Fatalf("%q leaves something behind", src)
		}
		if w := p.walk(file, newCostMeter(), false, false); w.concurrent || w.moved || w.linked || w.wrote && !wrapsOrEdits(src) {
			t.Fatalf("%q: the walk sees something written", src)
		}
	})
}

// wrapsOrEdits skips what the walk takes for writers by name.
func wrapsOrEdits(src string) bool {
	for _, name := range []string{"sed", "xargs", "-exec", "timeout", "nice", "stdbuf", "command", "zcat", "git", "base"} {
		if strings.Contains(src, name) {
			return true
		}
	}
	return false
}
