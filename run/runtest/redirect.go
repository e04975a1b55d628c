package runtest

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"hako/run"
)

// A diary keeps what a runner asked about.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) add(words ...string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, strings.Join(words, " "))
}

func checkDir(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner never calls Check")
	}
	var seen diary
	check := func(_ context.Context, dir string, argv []string) error {
		seen.add(append([]string{dir}, argv...)...)
		return nil
	}
	got := b.do(t.Context(), run.Request{Script: "mkdir sub; pwd; cd sub; pwd; (cd ..; echo up); echo down", Check: check})
	top, sub, _ := strings.Cut(got.out, "\n")
	sub, _, _ = strings.Cut(sub, "\n")
	if got.fault != nil || path.Base(sub) != "sub" {
		t.Fatalf("%q, %v", got.out, got.fault)
	}
	for _, want := range []string{top + " mkdir sub", top + " cd sub", sub + " cd ..", top + " echo up",
		sub + " echo down"} {
		if !slices.Contains(seen.lines, want) {
			t.Errorf("%q was not checked; seen %q", want, seen.lines)
		}
	}
}

func redirectFiles(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner never calls Redirect")
	}
	var seen diary
	script := `echo x >a; f='b c'; echo y >"$f"; (cat <a >/dev/null); for i in 1 2; do echo z >>"c$i"; done
		g() { cat <"$1"; }; g a; echo both &>d; echo to 2>&1 >&2 2>/dev/null; cat <<<word | cat >e
		mkdir sub; cd sub; echo s >in; x=$(<in); { echo r; } 2>$x; cat <<END
text
END`
	req := run.Request{Script: script, Redirect: func(_ context.Context, dir, op, file string) error {
		seen.add(path.Base(dir), op, file)
		return nil
	}}
	top := path.Base(strings.TrimSpace(b.do(t.Context(), run.Request{Script: "pwd"}).out))
	if got := b.do(t.Context(), req); got.fault != nil || got.out != "x\nto\nr\ntext\n" {
		t.Fatalf("%q, %q, %v", got.out, got.err, got.fault)
	}
	want := []string{"> a", "> b c", "< a", "> /dev/null", ">> c1", ">> c2", "< a", "&> d", "> /dev/null", "> e"}
	for i := range want {
		want[i] = top + " " + want[i]
	}
	want = append(want, "sub > in", "sub < in", "sub > s")
	if !slices.Equal(seen.lines, want) {
		t.Errorf("asked about %q\nwant %q", seen.lines, want)
	}
}

func redirectStops(t *testing.T, b box) {
	if opaque(b) {
		t.Skip("an opaque runner never calls Redirect")
	}
	plain := errors.New("the test says no, in an error of its own")
	for _, no := range []error{errNo, plain} {
		redirect := func(_ context.Context, _, _, file string) error {
			if file == "secret" {
				return no
			}
			return nil
		}
		for _, script := range []string{
			"echo b >secret", "(echo b >secret)", "for i in 1 2; do echo b >>secret; done >&2", "f() { cat <$1 >&2; }; f secret",
			"{ echo b; } >secret", "if cat <secret; then echo b; else echo b; fi", "x=$(cat <secret); echo b",
			"cat </dev/null 2>secret || echo b",
			"echo b &>secret", "echo b | cat >secret", "exec 3>secret", "while read l; do echo b; done <secret", ">secret",
			"eval 'echo b >secret'",
		} {
			got := b.do(t.Context(), run.Request{Script: "echo a; " + script + "; echo c", Redirect: redirect})
			if !errors.Is(got.fault, no) || got.out != "a\n" {
				t.Errorf("%q: %q, %v", script, got.out, got.fault)
			}
		}
		b.script(t, run.Request{Script: "test -e secret || echo none"}, "none\n")
	}
}
