package console

import (
	"strings"
	"testing"
)

func classes(command string) string {
	var all []string
	for _, p := range marked(command, "") {
		if p.Class != "" {
			all = append(all, p.Class+":"+p.Text)
		}
	}
	return strings.Join(all, " ")
}

func TestPainted(t *testing.T) {
	for _, c := range []struct{ command, want string }{
		{"git push --force origin", "cmd:git flag:--force"},
		{"a | b && c; d", "cmd:a op:| cmd:b op:&& cmd:c op:; cmd:d"},
		{`echo "x $HOME" 'y'`, `cmd:echo str:"x  var:$HOME str:" str:'y'`},
		{"rm $(ls -a) # why", "cmd:rm op:$( cmd:ls flag:-a op:) com:# why"},
		{"rm `ls`", "cmd:rm op:` cmd:ls op:`"},
		{"X=1 y >out 2>&1", "var:X cmd:y op:> op:>&"},
		{"if a; then b; fi", "kw:if cmd:a op:; kw:then cmd:b op:; kw:fi"},
		{"for i in 1; do x; done", "kw:for kw:do cmd:x op:; kw:done"},
		{"while a; do b; done", "kw:while cmd:a op:; kw:do cmd:b op:; kw:done"},
		{"f() { x; }", "cmd:f cmd:x op:;"},
		{"echo 日本語", "cmd:echo"},
		{"echo \u202ehsab\u2066 a", "cmd:echo ctl:‹U+202E› ctl:‹U+2066›"},
	} {
		if got := classes(c.command); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", c.command, got, c.want)
		}
	}
}

// TestPaintedWhole: whatever the colours, all of a command is shown.
func TestPaintedWhole(t *testing.T) {
	for _, s := range []string{"", "'", "$(", "echo \"", "a\x00b", "\xff\xfe", strings.Repeat("x ", maxHighlighted), "cat <<E\nx\n",
		"((", "case x in", "\u202e\u202d"} {
		checkPainted(t, s)
	}
}

func FuzzPainted(f *testing.F) {
	f.Add("for i in $(ls); do echo \"$i\" >>x; done # 箱")
	f.Fuzz(func(t *testing.T, s string) { checkPainted(t, s) })
}

func checkPainted(t *testing.T, s string) {
	t.Helper()
	var b strings.Builder
	for _, p := range marked(s, "") {
		b.WriteString(p.Text)
	}
	if want := visible(strings.ToValidUTF8(s, "\uFFFD")); b.String() != want {
		t.Errorf("%.100q is shown as %.100q", s, b.String())
	}
}
