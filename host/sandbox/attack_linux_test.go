package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldLandlock pretends to be on an older kernel. Where it lets something
// through, no such cage is built, or the report says so.
func TestOldLandlock(t *testing.T) {
	if landlockABI() < 6 {
		t.Skip("this kernel is old itself")
	}
	root, outside := realDir(t), realDir(t)
	victim := filepath.Join(outside, "victim")
	if err := os.WriteFile(victim, []byte("text"), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := build(t.Context(), Plan{Root: root, Temp: realDir(t)}, false, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := pen{c, root, outside}
	p.sh(t, "truncate -s 0 $OUT/victim; perl -e 'truncate(\"$ENV{OUT}/victim\", 0)'")
	if text, _ := os.ReadFile(victim); len(text) != 0 {
		t.Log("nothing here empties a file by its name alone")
	}
	for abi, want := range map[int]bool{0: true, 1: true, 2: true, 3: false, 7: false} {
		if got := tooOld(false, abi) != ""; got != want {
			t.Errorf("version %d: too old: %v", abi, got)
		}
		if tooOld(true, abi) != "" {
			t.Errorf("version %d is too old beside namespaces", abi)
		}
	}
	if !strings.Contains(strings.Join(c.Report.Missing, "\n"), "signals: ") {
		t.Errorf("the report says nothing of signals: %q", c.Report.Missing)
	}
}

// TestFirstToGo checks that programs are what the system ends when memory runs
// out, and that they cannot change it.
func TestFirstToGo(t *testing.T) {
	p := newPen(t, Plan{}, Full)
	if out, _ := p.sh(t, "echo 0 2>/dev/null >/proc/self/oom_score_adj; cat /proc/self/oom_score_adj"); !strings.HasSuffix(
		out, "1000\n") {
		t.Error(out)
	}
}

// TestFilterIsSound runs the filter's own arithmetic: every jump lands inside of
// the program, and the last word is an answer.
func TestFilterIsSound(t *testing.T) {
	for _, o := range []setup{{Namespaces: true}, {}, {Plan: Plan{Network: true, Readable: []string{"/x"}}},
		{Plan: Plan{Network: true}, Namespaces: true}} {
		p := o.program()
		for i, step := range p {
			if i+1+int(max(step.Jt, step.Jf)) >= len(p) && step.Jt|step.Jf != 0 {
				t.Errorf("step %d leads out of the program", i)
			}
		}
		if p[len(p)-1].Code != answer || len(p) > 4096 {
			t.Errorf("%d steps, the last is %+v", len(p), p[len(p)-1])
		}
	}
}
