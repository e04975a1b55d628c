package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestRootFor: a command has the name that the list gives it, and is the same
// alone as in the whole tree.
func TestRootFor(t *testing.T) {
	s := newStreams(&bytes.Buffer{}, &bytes.Buffer{}, &bytes.Buffer{})
	whole := newRoot(s)
	for _, c := range commands {
		alone := rootFor(s, []string{c.name})
		a, _, err := alone.Find([]string{c.name})
		if err != nil || a.Name() != c.name {
			t.Errorf("%s is called %s: %v", c.name, a.Name(), err)
		}
		w, _, _ := whole.Find([]string{c.name})
		if got, want := a.UsageString(), w.UsageString(); got != want {
			t.Errorf("%s alone says\n%s\nand in the tree\n%s", c.name, got, want)
		}
	}
	if all := rootFor(s, []string{"--help"}); len(all.Commands()) < len(commands) {
		t.Errorf("help knows %d commands", len(all.Commands()))
	}
	if near := rootFor(s, []string{"serv"}).SuggestionsFor("serv"); strings.Join(near, " ") != "serve" {
		t.Errorf("suggestions %q", near)
	}
}

func BenchmarkRoot(b *testing.B) {
	s := newStreams(&bytes.Buffer{}, &bytes.Buffer{}, &bytes.Buffer{})
	b.ReportAllocs()
	for range b.N {
		rootFor(s, []string{"sh"})
	}
}
