package editor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestUndo(t *testing.T) {
	b := newBench(t)
	b.write("f", "0\n")
	for i := range 25 {
		b.ok("str_replace", "f", "old_str", fmt.Sprintf("%d\n", i), "new_str", fmt.Sprintf("%d\n", i+1))
	}
	for i := range 20 {
		if got := b.ok("undo_edit", "f"); got != "The last edit of "+at+"/f has been undone." {
			t.Errorf("got %q", got)
		}
		b.wantFile("f", fmt.Sprintf("%d\n", 24-i))
	}
	b.no(fault.NotFound, "No edit history found for "+at+"/f.", "undo_edit", "f")
	b.ok("str_replace", "f", "old_str", "5", "new_str", "five") // undoing counts as having seen
	b.ok("undo_edit", "f")
}

func TestUndoCreate(t *testing.T) {
	b := newBench(t)
	b.write("d/there", "x\n")
	before := tree(t, b.dir)
	b.ok("create", "d/e/g/f", "file_text", "a\n")
	b.ok("str_replace", "d/e/g/f", "old_str", "a", "new_str", "b")
	b.ok("undo_edit", "d/e/g/f")
	b.wantFile("d/e/g/f", "a\n")
	if got := b.ok("undo_edit", "d/e/g/f"); got != "The creation of "+at+"/d/e/g/f has been undone: the file is gone." {
		t.Errorf("got %q", got)
	}
	if after := tree(t, b.dir); after != before {
		t.Errorf("left behind:\n%s", after)
	}
	b.no(fault.NotFound, "The path "+at+"/d/e/g/f does not exist. Please provide a valid path.", "undo_edit", "d/e/g/f")

	b.ok("create", "n/m/f", "file_text", "a\n")
	b.write("n/other", "somebody's")
	b.ok("undo_edit", "n/m/f")
	b.wantFile("n/other", "somebody's")
	if _, err := os.Stat(filepath.Join(b.dir, "n", "m")); err == nil {
		t.Error("the inner directory is still there")
	}
	b.ok("create", "n/m/f", "file_text", "again\n") // after an undo nothing was seen
	b.wantFile("n/m/f", "again\n")
}

func TestUndoNotOverChanges(t *testing.T) {
	b := newBench(t)
	b.ok("create", "f", "file_text", "a\n")
	b.write("f", "mine\n")
	b.no(fault.Invalid, "undo_edit "+at+"/f"+changedSinceText, "undo_edit", "f")
	b.ok("view", "f")
	b.no(fault.Invalid, "undo_edit "+at+"/f"+changedSinceText, "undo_edit", "f")
	must(t, os.Remove(filepath.Join(b.dir, "f")))
	b.no(fault.Invalid, "undo_edit "+at+"/f"+changedSinceText, "undo_edit", "f")
	b.write("f", "a\n") // as it was
	b.ok("undo_edit", "f")
	if _, err := os.Stat(filepath.Join(b.dir, "f")); err == nil {
		t.Error("the file is still there")
	}
}

func TestHistoryIsBounded(t *testing.T) {
	b := newBench(t)
	b.MaxHistory = 10_000
	text := strings.Repeat("x", 3000)
	for _, name := range []string{"a", "b", "c", "d"} {
		b.write(name, text+"\n")
		b.ok("str_replace", name, "old_str", text, "new_str", "short")
	}
	b.no(fault.NotFound, "No edit history found for "+at+"/a.", "undo_edit", "a")
	for _, name := range []string{"b", "c", "d"} {
		b.ok("undo_edit", name)
		b.wantFile(name, text+"\n")
	}
	if b.memory.bytes != 0 {
		t.Errorf("%d bytes are left", b.memory.bytes)
	}
	b.MaxHistory = 1000
	b.ok("str_replace", "a", "old_str", "short", "new_str", text)
	b.ok("str_replace", "a", "old_str", text, "new_str", "short") // more than is kept in all
	b.no(fault.NotFound, "No edit history found for "+at+"/a.", "undo_edit", "a")
}

func TestMemoryIsBounded(t *testing.T) {
	var m seenFiles
	name := func(i int) string { return fmt.Sprint(i) }
	for i := range maxFiles + 10 {
		m.setSeen(name(i), digest{1}, plainUTF8)
		m.addStep(name(i), step{}, 20, 1<<30)
		m.setSeen("0", digest{2}, plainUTF8) // kept, being used
	}
	if len(m.files) != maxFiles || m.files["1"] != nil || m.files["0"] == nil {
		t.Errorf("%d files", len(m.files))
	}
	if want := int64(maxFiles * overhead); m.bytes != want {
		t.Errorf("%d bytes, want %d", m.bytes, want)
	}
	m = seenFiles{}
	m.addStep("0", step{}, -1, -1) // limits that make no sense keep nothing
	if m.bytes != 0 {
		t.Errorf("%d bytes are left", m.bytes)
	}
}
