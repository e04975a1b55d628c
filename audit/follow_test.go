package audit

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hako/run/fault"
)

// heard reads what a follower has to tell.
func heard(t *testing.T, w *Follower) (seqs []int64, anew bool) {
	t.Helper()
	anew, err := w.Read(func(e Event) error { seqs = append(seqs, e.Seq); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return seqs, anew
}

func TestFollower(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if _, err := openFollower(path, 2); fault.KindOf(err) != fault.NotFound {
		t.Errorf("no log: %v", err)
	}
	w, err := AwaitFollower(path, 2)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	want := func(why string, anew bool, seqs ...int64) {
		t.Helper()
		if got, a := heard(t, w); !slices.Equal(got, seqs) || a != anew {
			t.Errorf("%s: %v, %v; want %v, %v", why, got, a, seqs, anew)
		}
	}
	away := func() {
		t.Helper()
		for _, name := range []string{path, HeadPath(path)} {
			if err := os.Rename(name, name+".old"); err != nil {
				t.Fatal(err)
			}
		}
	}
	want("nothing", false)
	fill(t, path, 3)
	want("the first two of a new one", true, 2, 3)
	want("nothing new", false)
	fill(t, path, 3)
	want("appended", false, 4, 5, 6)
	fill(t, path, 1)
	away()
	want("moved away", false, 7)
	want("no log", false)
	fill(t, path, 1)
	want("another", true, 1)
	fill(t, path, 4)
	away()
	fill(t, path, 5)
	want("the rest of the old and the end of the new", true, 2, 3, 4, 5, 4, 5)
	text, _ := os.ReadFile(path)
	os.WriteFile(path, text[:len(text)-100], 0o600)
	want("cut: of its last two the one that was not told", true, 3)
	os.WriteFile(path, text, 0o600)
	want("the end comes again", false, 5)
	fill(t, path, 1)
	want("and more", false, 6)
	os.Remove(HeadPath(path))
	os.WriteFile(path, nil, 0o600)
	fill(t, path, 9)
	want("written anew", true, 8, 9)
}
