package policy

import (
	"slices"
	"strings"
	"testing"
)

func verdictOn(t *testing.T, p *Policy, src string) Effect {
	t.Helper()
	vs, err := p.Script(src)
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	return Strictest(vs)
}

// What find does to .git, by its expression. The command behind -exec would be
// refused for .git/config and for nothing else.
func TestSearchesThatReachGit(t *testing.T) {
	tests := []struct {
		expression string
		reaches    bool
	}{
		{"", true},
		{"-type f", true},
		{"-type d", true},
		{"-type l", false},
		{"-name config", true},
		{"-name 'con*'", true},
		{"-iname CONFIG", true},
		{"-name CONFIG", false},
		{"-name '*.go'", false},
		{"-name pre-push", true},
		{"! -name '*.go'", true},
		{"-name '*.go' -o -name config", true},
		{"-name '*.go' -o -name '*.py'", false},
		{"-false -o -name config", true},
		{"-path './.git/*'", true},
		{"-path '.git/*'", false},
		{"-not -path './.git/*' -type f", false},
		{"-not -path '*/.git/*' -type f", false},
		{"-not -path './.git/hooks/*' -type f", true},
		{"-not -path './.git/*'", true}, // .git itself
		{"-regex '.*/config'", true},
		{"-regex '.*\\.\\(js\\|ts\\)'", false},
		{"-regextype posix-extended -regex '.*\\.(js|ts)'", false},
		{"-regex '.*\\w'", true}, // not understood
		{"-name .git -prune -o -type f", false},
		{"-path ./.git -prune -o -type f", false},
		{"\\( -name .git -o -name x \\) -prune -o -type f", false},
		{"-depth -name .git -prune -o -type f", true},
		{"-size +1k -name .git -prune -o -type f", true}, // it may not be so large
		{"-mindepth 2 -name .git -prune -o -type f", true},
		{"-mindepth 1 -name .git -prune -o -type f", false},
		{"-maxdepth 1 -type f", false},
		{"-maxdepth 1", true},
		{"-maxdepth 2 -type f", true},
		{"-name .envrc", true},
		{"-name 'hako*'", true},
		{"-name '*.yaml'", false},
		{"-path '*/.vscode/*'", true},
		{"-name '*.json'", false},
	}
	p := hostPolicy()
	for _, tt := range tests {
		want := Allow
		if tt.reaches {
			want = Deny
		}
		exec := "find . \\( " + tt.expression + " \\) -exec sed -i s/a/b/ {} +"
		if tt.expression == "" || strings.Contains(tt.expression, "-prune") {
			exec = "find . " + tt.expression + " -exec sed -i s/a/b/ {} +"
		}
		printed := strings.Replace(exec, "-exec sed -i s/a/b/ {} +", "-print | xargs sed -i s/a/b/", 1)
		for _, src := range []string{exec, printed} {
			if got := verdictOn(t, p, src); got != want {
				t.Errorf("%s: %v, want %v", src, got, want)
			}
		}
	}
}

func TestSearchesStartSomewhere(t *testing.T) {
	p := hostPolicy()
	for start, want := range map[string]Effect{
		"": Deny, ".": Deny, "./": Deny, "././.": Deny, "x/..": Deny, testRoot: Deny, "src .": Deny, "-H .": Deny,
		"src": Allow, "./src": Allow, "src lib": Allow, testRoot + "/src": Allow,
	} {
		if got := verdictOn(t, p, "find "+start+" -type f -exec sed -i s/a/b/ {} +"); got != want {
			t.Errorf("find %s: %v, want %v", start, got, want)
		}
	}
}

// Looking at what a search finds is fine, wherever it comes to.
func TestSearchesMayLook(t *testing.T) {
	p := hostPolicy()
	for _, does := range []string{"grep -l x", "wc -l", "cat", "head -1", "ls -l", "sha256sum", "du -h", "stat"} {
		for _, src := range []string{"find . -type f -exec " + does + " {} +", "find . -type f | xargs " + does,
			"grep -rl x . | xargs " + does} {
			if got := verdictOn(t, p, src); got != Allow {
				t.Errorf("%s: %v", src, got)
			}
		}
	}
}

func TestSearchRefusalsSayWhatWasFound(t *testing.T) {
	for _, src := range []string{"find . -name config -exec sed -i s/a/b/ {} +",
		"find . -name config | xargs sed -i s/a/b/"} {
		vs, err := hostPolicy().Script(src)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(vs, func(v Verdict) bool { return v.Effect == Deny })
		if i < 0 || !strings.Contains(vs[i].Why, "./.git/config") || !strings.Contains(vs[i].Hint, ".git") || vs[i].Late {
			t.Errorf("%s: %+v", src, vs)
		}
	}
}

// A search too long to be tried out may come anywhere, and takes no time.
func TestLongSearches(t *testing.T) {
	src := "find . " + strings.Repeat("-name a.go -o ", 20000) + "-name b.go -exec sed -i s/a/b/ {} +"
	if got := verdictOn(t, hostPolicy(), src); got != Deny {
		t.Errorf("%v", got)
	}
}

func TestListingsOfGit(t *testing.T) {
	p := hostPolicy()
	for list, want := range map[string]Effect{
		"grep -rl x .": Deny, "grep -rl x": Deny, "grep -Rl x ./": Deny, "grep -l -d recurse x .": Deny,
		"grep -rl --include=config x .": Deny,
		"grep -rl x src":                Allow, "grep -rl --include='*.go' x .": Allow,
		"grep -rl --exclude-dir=.git x .":   Allow,
		"grep -rl --exclude-dir=vendor x .": Deny, "grep -l x *.go": Allow,
		"rg -l x": Allow, "rg -u -l x": Allow, "rg -uu -l x": Deny, "rg --hidden -l x": Deny, "rg --hidden -l x src": Allow,
		"rg --hidden -g '!.git' -l x": Allow, "rg --hidden -g '!*.md' -l x": Deny, "rg --hidden -t go -l x": Allow,
		"fd": Allow, "fd -H": Deny, "fd -H -E .git": Allow, "fd -H -e go": Allow, "fd -u conf": Deny, "fd -H '\\.go$'": Allow,
		"ls": Allow, "ls -A": Deny, "ls -a": Deny, "ls -A src": Allow, "ls -d .g*": Deny, "ls *.go": Allow,
		"find . -type f | grep -v '\\.git/'": Allow, "find . -type f | grep -v vendor": Deny,
		"find . -type f | grep '\\.go$'": Allow, "find . -type f | grep -F config": Deny,
		"find . -type f | grep -E '\\.(js|ts)$'": Allow, "find . -type f | sort | head": Deny,
		"find . -type f | xargs grep -l x": Deny,
	} {
		if got := verdictOn(t, p, list+" | xargs rm -r --"); got != want {
			t.Errorf("%s: %v, want %v", list, got, want)
		}
	}
}

// Names that the shell itself puts into words are judged when it has them.
func TestNamesFromSearchesWaitForCall(t *testing.T) {
	p := hostPolicy()
	for _, src := range []string{
		"sed -i s/a/b/ $(find . -name config)", "for f in $(find . -name config); do cp x \"$f\"; done",
		"find . -name config | while read -r f; do tee \"$f\"; done",
		"find . -name config | while read -r f; do echo x >> \"$f\"; done",
		"f=$(find . -name config | head -1); perl -pi -e 1 \"$f\"",
	} {
		vs, err := p.Script(src)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(vs, func(v Verdict) bool { return v.Late && v.Argv[0] != "find" }) {
			t.Errorf("%s: nothing waits for its words: %+v", src, vs)
		}
	}
	for _, argv := range [][]string{{"sed", "-i", "s/a/b/", "./.git/config"}, {"cp", "x", "./.git/config"},
		{"tee", "./.git/hooks/x"}, {"perl", "-pi", "-e", "1", "./.git/config"}} {
		if v := p.Call(argv); v.Effect != Deny {
			t.Errorf("%q: %v", argv, v)
		}
	}
	if v := p.Redirect(">>", "./.git/config"); v.Effect != Deny {
		t.Errorf("%v", v)
	}
}
