package policy

import "testing"

// TestAt judges the same words in different directories.
func TestAt(t *testing.T) {
	host, virtual := Default("host", Options{Root: "/w"}), Default("virtual", Options{})
	for _, c := range []struct {
		p         *Policy
		dir, file string
		want      Effect
	}{
		{host, "", "../x", Deny}, {host, "/w", "../x", Deny}, {host, "/w/a", "../x", Allow}, {host, "/w/a", "../../x", Deny},
		{host, "/w/.git", "x", Deny}, {host, "/w/a", "x", Allow}, {host, "/etc", "x", Deny},
		{virtual, "/box", "../../x", Allow}, {nil, "/w", "x", Deny},
	} {
		if v := c.p.RedirectAt(c.dir, ">", c.file); v.Effect != c.want {
			t.Errorf("in %q, > %s: %v, %s", c.dir, c.file, v.Effect, v.Why)
		}
		if c.dir == "/w/.git" {
			continue
		}
		if v := c.p.CallAt(c.dir, []string{"cat", c.file}); v.Effect != c.want {
			t.Errorf("in %q, cat %s: %v, %s", c.dir, c.file, v.Effect, v.Why)
		}
	}
}

func BenchmarkCallAt(b *testing.B) {
	p := Default("host", Options{Root: "/w"})
	b.ReportAllocs()
	for b.Loop() {
		p.CallAt("/w/sub", []string{"grep", "-n", "x", "file"})
	}
}
