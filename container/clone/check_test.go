package clone

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestCheck(t *testing.T) {
	for _, good := range []Source{
		{URL: "https://github.com/group/project.git"},
		{URL: "https://github.com/group/project/", Branch: "main"},
		{URL: "http://10.0.0.1:8080/~me/a_b/c.d", Branch: "feature/日本語", Target: "release-1.0", Depth: 3},
		{URL: "https://[2001:db8::1]:8443/x"},
	} {
		if err := Check(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "-", "--upload-pack=touch /tmp/x", "-uhttps://github.com/a/b", "ext::sh -c id", "fd::17", "ext::https://a/b",
		"file:///etc", "/etc/passwd", "../x",
		"git@github.com:group/project.git", "ssh://git@github.com/a/b", "git://github.com/a/b", "ftp://x/y", "https://",
		"https:///a/b", "https:a/b",
		"https://github.com", "https://github.com/", "https://github.com/a/../b", "https://github.com/a//b",
		"https://github.com/a/./b", "https://github.com/a/%2e%2e/b", "https://github.com/a\\b",
		"https://github.com/a?b=c", "https://github.com/a?", "https://github.com/a#b", "https://github.com/a#",
		"https://github.com/a b", "https://github.com/a\nb", "https://github.com/\x1b[2J",
		"https://-oProxyCommand=x/a", "https://github.com/a/.git", "https://github.com/あ", "HTTPS+x://github.com/a",
		"https://git%68ub.com/a", "https://github.com:port/a",
		"https://github.com/" + strings.Repeat("a", 3000), "https://github.com/a\"b", "javascript://github.com/a",
	} {
		err := Check(Source{URL: bad})
		var e *fault.Error
		if !errors.As(err, &e) || e.Kind != fault.Invalid || e.Why == "" || e.Hint == "" {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, secret := range []string{"https://me:hunter22@github.com/a", "https://hunter22@github.com/a",
		"https://me:hunter22@github.com:x/a", "me:hunter22@github.com:a/b",
		"https://me:hunter22%zz@github.com/a", "ssh://me:hunter22@github.com/a", "https://me:hunter22@/a",
		"https://a/\nhttps://me:hunter22@b/"} {
		if err := Check(Source{URL: secret}); err == nil || strings.Contains(err.Error()+fault.Hint(err), "hunter22") {
			t.Errorf("%q: %v", secret, err)
		}
	}
	if err := Check(Source{URL: "https://github.com/a/b", Depth: -1}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("depth -1: %v", err)
	}
	for _, src := range []Source{{Branch: "--upload-pack=x"}, {Target: "-x"}, {Branch: "a..b"}} {
		src.URL = "https://github.com/a/b"
		if err := Check(src); fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" {
			t.Errorf("%+v: %v", src, err)
		}
	}
}

// TestPlainHTTP is permitted where somebody said so.
func TestPlainHTTP(t *testing.T) {
	src := Source{URL: "http://git.corp.example/a/b"}
	known := ring(t, "GITLAB_API_URL", "http://git.corp.example/api/v4")
	for want, s := range map[bool]*Store{false: {Keys: ring(t)}, true: {Keys: known}} {
		if err := s.Check(src); (err == nil) != want || err != nil && fault.Hint(err) == "" {
			t.Errorf("%v: %v", want, err)
		}
	}
	if err := (&Store{PlainHTTP: true}).Check(src); err != nil {
		t.Error(err)
	}
}

var oddNames = []string{"main", "a/b", "", "/", "a/", "/a", "a//b", ".a", "a/.b", "a.", "a..b", "a.lock", "a.lock/b",
	"@", "a@{b", "@a", "a b", "a~b", "a^b", "a:b", "a?b", "a*b", "a[b",
	"a\\b", "a\x7fb", "a\x01b", "-a", "a-", "HEAD", "é", "a\u202eb", "refs/heads/x", "a\nb", "a]b", "{a}", "a;b", `a"b`,
	"a'b", "a$b", "--", "a.b.c"}

// FuzzBranch compares with git itself, which is stricter nowhere.
func FuzzBranch(f *testing.F) {
	for _, name := range oddNames {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if name == "" || strings.ContainsRune(name, 0) || branchProblem(name) != "" {
			return
		}
		if out, err := exec.Command("git", "check-ref-format", "--branch", name).CombinedOutput(); err != nil {
			t.Errorf("%q is taken, but not by git: %s", name, out)
		}
	})
}

// TestBranchLikeGit takes what git takes.
func TestBranchLikeGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	for _, name := range oddNames {
		git := exec.Command("git", "check-ref-format", "refs/heads/"+name).Run() == nil && !strings.HasPrefix(name, "-") &&
			name != "HEAD" && name != "@"
		if ours := branchProblem(name) == ""; name != "" && ours != git {
			t.Errorf("%q: ours %v, git's %v", name, ours, git)
		}
	}
}

func FuzzURL(f *testing.F) {
	for _, seed := range []string{"https://github.com/a/b.git", "https://u:p@h/x", "ext::sh", "http://[::1]:80/a",
		"https://a/%2e%2e/", "http://0/00!0/", "-x", "file:///", "https://h:99999/x", "http://0\"0000/00", "https://a'b/c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := parseURL(text)
		if err != nil {
			return
		}
		again, err := parseURL(u.String())
		if err != nil || again.String() != u.String() || u.User != nil || u.Scheme != "https" && u.Scheme != "http" ||
			u.Host == "" ||
			strings.ContainsAny(u.String(), "\n\r\t \"'\\#?") || strings.Contains(u.Host, "@") {
			t.Errorf("%q became %q, then %v %v", text, u, again, err)
		}
	})
}

func FuzzRefs(f *testing.F) {
	f.Add("ref: refs/heads/main\tHEAD\n" + strings.Repeat("a", 40) + "\tHEAD\n" + strings.Repeat("b", 40) +
		"\trefs/heads/main\n")
	f.Add("ref: refs/heads/--x\tHEAD\n\t\n\x00")
	f.Fuzz(func(t *testing.T, text string) {
		commits, head := parseRefs(text)
		if head != "" && branchProblem(head) != "" {
			t.Errorf("default branch %q", head)
		}
		for name, commit := range commits {
			if !isHash(commit) || strings.ContainsAny(name, "\n") {
				t.Errorf("%q is at %q", name, commit)
			}
		}
	})
}

// FuzzSpeech lets nothing through that a terminal would obey, nor a secret.
func FuzzSpeech(f *testing.F) {
	f.Add("remote: \x1b[2Jhello\r\x07 50%\r\nfatal: no\n", 3)
	f.Add("remote: hunter22hunter22\n", 5)
	f.Add("remote: hunter2\x1f2\n", 40)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		var told []string
		s := &gitOutput{clean: func(s string) string { return strings.ReplaceAll(s, "hunter22", "***") },
			progress: func(s string) { told = append(told, s) }}
		cut = min(max(cut, 0), len(text))
		s.Write([]byte(text[:cut]))
		s.Write([]byte(text[cut:]))
		all := s.text() + strings.Join(told, " ")
		if strings.ContainsFunc(all, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x9b }) ||
			strings.Contains(all, "hunter22") || len(s.lines) > maxLines {
			t.Errorf("%q", all)
		}
	})
}

func FuzzTally(f *testing.F) {
	f.Add([]byte("100644 blob 0123456789012345678901234567890123456789      12\ta\nb\x00160000 commit 01       -\tsub\x00"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		whole, halves := &treeReader{maxFiles: 1 << 30, maxBytes: 1 << 60},
			&treeReader{maxFiles: 1 << 30, maxBytes: 1 << 60}
		whole.stop, halves.stop = func() {}, func() {}
		cut = min(max(cut, 0), len(text))
		whole.Write(text)
		halves.Write(text[:cut])
		halves.Write(text[cut:])
		if whole.files != halves.files || whole.bytes != halves.bytes || whole.submodules != halves.submodules {
			t.Errorf("%+v, %+v", whole, halves)
		}
	})
}

func TestVersion(t *testing.T) {
	for text, want := range map[string][2]int{"git version 2.39.5\n": {2, 39}, "git version 2.31.0.windows.1": {2, 31},
		"git version 3.0": {3, 0}, "nonsense": {0, 0}, "": {0, 0},
		"git version 2.50.1 (Apple Git-155)": {2, 50}} {
		if major, minor := parseVersion(text); [2]int{major, minor} != want {
			t.Errorf("%q: %d.%d", text, major, minor)
		}
	}
}
