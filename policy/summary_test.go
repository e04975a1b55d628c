package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"hako/run/fault"
)

func linesText(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s\n", l.Effect, l)
	}
	return b.String()
}

func TestSummaryOfTheHost(t *testing.T) {
	ja := linesText(hostPolicy().Summary("ja", 4))
	for _, want := range []string{
		"allow - ビルド・パッケージ管理: npm, yarn, pnpm, pip, …\n",
		"allow - テスト: pytest, jest, mocha, rspec, …\n",
		"allow - ファイル操作・検索: ls, cat, head, tail, …\n",
		"allow - Git: git status, git diff, git log, git branch, …\n",
		"ask - 承認が必要: git push, git pull, git fetch, git clone, …\n",
		"deny - 禁止: sudo, su, doas, rm -rf, …\n",
	} {
		if !strings.Contains(ja, want) {
			t.Errorf("%q is not in\n%s", want, ja)
		}
	}
	all := hostPolicy().Summary("en", 0)
	if all[0].Title != "Build and package management" || all[4].Title != "Version control" || all[4].Cut ||
		len(all[4].Names) < 40 {
		t.Errorf("%s", linesText(all))
	}
	titles := make(map[string]bool)
	for _, l := range all {
		if _, ok := japanese[l.Title]; !ok || titles[l.Title] {
			t.Errorf("%q has no Japanese title, or comes twice", l.Title)
		}
		titles[l.Title] = true
	}
}

func TestSummaryIsOfTheLivePolicy(t *testing.T) {
	more := mustParse(t, "allow mytool # mine\nallow mytool\ndeny npm # not here\n## Deploy\nask ship\nallow ls\n")
	text := linesText(hostPolicy().With(more).Summary("en", 0))
	for _, want := range []string{"- Other: mytool\n", "ask - Deploy: ship\n",
		"allow - Build and package management: yarn, pnpm,", "deny - Build and package management: npm\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if n := strings.Count(text, " ls,"); n != 1 {
		t.Errorf("ls comes %d times", n)
	}
	if got := linesText(Default("virtual", Options{}).Summary("ja", 3)); got != "allow - その他: *\n" {
		t.Errorf("%q", got)
	}
	if (*Policy)(nil).Summary("ja", 3) != nil {
		t.Error("a nil policy allows nothing")
	}
}

const secretaryList = "# the secretary's\nls\npwd\ngit # version control\nuv run python\nuv run pytest\nrm\nsudo\n"

func hostList(t *testing.T, text string) *Policy {
	t.Helper()
	list, err := Whitelist("list.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := list.Instead("host", Options{Root: testRoot})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhitelistInsteadOfTheDefault(t *testing.T) {
	p := hostList(t, secretaryList)
	check(t, p, []string{"ls -l", "pwd", "git status", "git log -1 --oneline", "uv run pytest -q tests",
		"uv run python main.py", "rm a.txt", "ls *.py", "ls & pwd"}, Allow)
	check(t, p, []string{"cat a", "head a", "uv run black .", "uv pip install x", "sudo ls", "rm -rf a",
		"rm -fr /tmp/test", "ls /etc", "ls --nonesuch", "cd src", "git -c alias.x='!id' x",
		"uv run --extra pytest sh", "uv run pytest /etc", "uv run python ../x.py", "uv run --with x pytest",
		"LD_PRELOAD=x ls", "ls > /x", "./ls"}, Deny)
	check(t, p, []string{"git push", "git fetch"}, Ask)
	check(t, hostList(t, "git push\n"), []string{"git push"}, Allow)
	check(t, hostList(t, "ls\n"), []string{"git push", "git status"}, Deny)
	if v := p.Call([]string{"ls"}); v.Where != "list.txt:2" || p.Profile() != "host" || p.Root() != testRoot {
		t.Errorf("%+v", v)
	}
	if got := linesText(p.Summary("ja", 0)); !strings.HasPrefix(got,
		"allow - ファイル操作・検索: ls\nallow - ユーティリティ: pwd, rm\nallow - Git: git\nallow - ビルド・パッケージ管理: uv run python, uv run pytest\nask - 承認が必要: git push,") {
		t.Errorf("%s", got)
	}
	if _, err := p.Instead("hots", Options{}); fault.Hint(err) != "did you mean host?" {
		t.Errorf("%v", err)
	}
}

func TestUvRun(t *testing.T) {
	p := hostPolicy()
	check(t, p, []string{"uv run pytest", "uv run python main.py", "uv run main.py --flag", "uv run -m pytest tests",
		"uv run --frozen --no-sync pytest -q", "uv --quiet run --python 3.12 python x.py", "uv --version", "uv run",
		"uv run --directory sub pytest"}, Allow)
	check(t, p, []string{"uv pip install x", "uv sync", "uv add x", "uv tool run x", "uvx black", "uv run sh -c ls",
		"uv run rm -rf x", "uv run nonesuch", "uv run --with x pytest", "uv run --python ./evil pytest",
		"uv run -p ../py pytest",
		"uv run --env-file x pytest", "uv run cat /etc/passwd", "uv run /etc/x.py", "uv run env sudo ls",
		"uv run --directory .. ls", "uv run --project /etc pytest", "uv run $(cat x)", "uv $x", "uv run kill 1",
		"uv run --script ../x"}, Deny)
	check(t, hostPolicy().With(mustParse(t, "allow uv sync")), []string{"uv sync"}, Allow)
}

func TestUnlisted(t *testing.T) {
	p := hostPolicy()
	for _, c := range []struct{ cmd, name string }{
		{"nonesuch x", "nonesuch"}, {"rm -rf /tmp/test", "rm"}, {"sudo ls", "sudo"}, {"env FOO=1 ssh x", "ssh"},
		{"find . -exec dd {} +", "dd"}, {"ls | xargs -n1 nc", "nc"}, {"git nonesuch", "git"},
		{"cat /etc/passwd", ""}, {"sort --nonesuch x", ""}, {"./ls", ""}, {"ls > /x", ""}, {"PATH=. ls", ""}, {"kill 1", ""},
		{"find . -delete", ""}, {"$x", ""}, {"cat <(ls)", ""},
	} {
		vs, err := p.Script(c.cmd)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range vs {
			if v.Effect != Deny {
				continue
			}
			why, cause := v.Reason()
			var u *UnlistedError
			found := errors.As(cause, &u)
			if v.Unlisted != (c.name != "") || v.Name != c.name || errors.Is(cause, ErrUnlisted) != v.Unlisted || found &&
				(u.Name != c.name || u.Error() != v.Why) || why+textOf(cause) != v.Why {
				t.Errorf("%s: %+v, %q, %v", c.cmd, v, why, cause)
			}
		}
		if Strictest(vs) != Deny {
			t.Errorf("%s: %+v", c.cmd, vs)
		}
	}
	v := p.Call([]string{"dd"})
	why, cause := v.Reason()
	err := error(&fault.Error{Kind: fault.Denied, Op: "denied", Subject: "dd", Why: why, Rule: v.Where, Err: cause})
	if !errors.Is(err, ErrUnlisted) ||
		!strings.HasPrefix(err.Error(), "denied dd: writes to disks directly (host.policy:") {
		t.Errorf("%v", err)
	}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
