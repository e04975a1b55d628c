package conversation

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"hako/llm"
	"hako/run/fault"
)

func newStore(t testing.TB) Store { return Store{filepath.Join(t.TempDir(), "state", "threads")} }

// load reads a conversation without opening it.
func load(s Store, name string) ([]llm.Item, error) {
	path, err := s.path(name)
	if err != nil {
		return nil, err
	}
	return read(path)
}

// save opens, saves and closes.
func save(t testing.TB, s Store, name string, items ...llm.Item) {
	t.Helper()
	th, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	if err := th.Save(items); err != nil {
		t.Fatal(err)
	}
}

var talk = []llm.Item{
	{Role: llm.User, Text: "行を数えて <b> &\u2028"},
	{Role: llm.Assistant, Text: "ok", Calls: []llm.Call{{ID: "c1", Name: "execute", Arguments: `{"command": "wc"}`}},
		Raw: []byte(`[{"x":"<y>"}]`), Source: "responses"},
	{Role: llm.Result, CallID: "c1", Name: "execute", Text: "12"},
}

func TestRoundTrip(t *testing.T) {
	s := newStore(t)
	for _, name := range []string{defaultName, "仕事", "über.uns-2_b", "हिन्दी", "a.json", "a.lock", "a",
		strings.Repeat("x", 64)} {
		if items, err := load(s, name); err != nil || items != nil {
			t.Errorf("%s: %v, %v before there is one", name, items, err)
		}
		save(t, s, name, talk...)
		if items, err := load(s, name); err != nil || !reflect.DeepEqual(items, talk) {
			t.Errorf("%s: %+v, %v", name, items, err)
		}
		th, err := s.Open(name)
		if err != nil || !reflect.DeepEqual(th.Items, talk) {
			t.Fatalf("%s: %+v, %v", name, th, err)
		}
		th.Close()
		th.Close()
		if err := th.Save(talk); err == nil {
			t.Errorf("%s: saved after it was closed", name)
		}
	}
}

func TestItemsFollow(t *testing.T) {
	s := newStore(t)
	th, err := s.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	for n := range talk {
		if err := th.Save(talk[:n+1]); err != nil || len(th.Items) != n+1 {
			t.Fatalf("%d items, %v", len(th.Items), err)
		}
	}
	if items, err := load(s, "x"); err != nil || len(items) != len(talk) {
		t.Errorf("%d items can be read while it is open, %v", len(items), err)
	}
}

func TestPrivate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	s := newStore(t)
	save(t, s, "x", talk...)
	path := filepath.Join(s.Dir, "x.json")
	for name, want := range map[string]os.FileMode{s.Dir: 0o700, path: 0o600} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	os.Chmod(path, 0o644)
	if _, err := s.Open("x"); fault.Hint(err) != "chmod 600 "+path {
		t.Errorf("others can read it: %v", err)
	}
	if left, _ := os.ReadDir(s.Dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestNames(t *testing.T) {
	s := newStore(t)
	for name, want := range map[string]string{
		"":                      "is empty",
		".hidden":               "begins with a dot",
		"..":                    "begins with a dot",
		"../x":                  "begins with a dot",
		"a/b":                   "has '/' in it",
		`a\b`:                   `has '\\' in it`,
		"a b":                   "has ' ' in it",
		"a\x00":                 `has '\x00' in it`,
		"a\n":                   `has '\n' in it`,
		"C:x":                   "has ':' in it",
		"a\u202eb":              `has '\u202e' in it`,
		"\xff":                  "not UTF-8",
		strings.Repeat("x", 65): "longer than 64 bytes",
		strings.Repeat("箱", 22): "longer than 64 bytes",
	} {
		_, opening := s.Open(name)
		_, loading := load(s, name)
		for _, err := range []error{opening, loading} {
			if err == nil || !strings.Contains(err.Error(), want) || fault.KindOf(err) != fault.Invalid ||
				fault.Hint(err) == "" {
				t.Errorf("%q: %v, want %q", name, err, want)
			}
		}
	}
	if _, err := os.Stat(s.Dir); err == nil {
		t.Error("a bad name made a directory")
	}
}

func TestBusy(t *testing.T) {
	s := newStore(t)
	first, err := s.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	_, opening := s.Open("x")
	save(t, s, "y", talk...)
	if err := first.Save(talk[:1]); err != nil {
		t.Fatal(err)
	}
	if fault.KindOf(opening) != fault.Unavailable ||
		fmt.Sprint(opening) != "open conversation x: another process has it open" || fault.Hint(opening) == "" {
		t.Errorf("%v", opening)
	}
	first.Close()
	second, err := s.Open("x")
	if err != nil || len(second.Items) != 1 {
		t.Fatalf("%+v, %v", second, err)
	}
	second.Close()
}

// TestNothingLost has many add a line each, waiting for their turn.
func TestNothingLost(t *testing.T) {
	s := newStore(t)
	const each, writers = 15, 4
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := 0; n < each; {
				th, err := s.Open("x")
				if fault.KindOf(err) == fault.Unavailable {
					continue
				}
				if err == nil {
					err = th.Save(append(slices.Clone(th.Items), llm.Item{Role: llm.User, Text: fmt.Sprint(w, n)}))
					th.Close()
				}
				if err != nil {
					t.Error(err)
					return
				}
				n++
			}
		})
	}
	wg.Wait()
	if items, err := load(s, "x"); err != nil || len(items) != each*writers {
		t.Errorf("%d of %d are left, %v", len(items), each*writers, err)
	}
	if left, _ := os.ReadDir(s.Dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestDamaged(t *testing.T) {
	s := newStore(t)
	save(t, s, "x", talk...)
	path := filepath.Join(s.Dir, "x.json")
	for text, want := range map[string]string{
		"":                                       "it breaks off",
		`{"version":1,"items":[{"role"`:          "it breaks off",
		`{"version":1,"items":[]}{}`:             "something after its end",
		`{"version":2,"items":[]}`:               "version 2",
		`{"items":[]}`:                           "version 0",
		`{"version":1,"items":[{"role":"god"}]}`: `item 1 has the role "god"`,
		`{"version":1,"itmes":[]}`:               `unknown field "itmes"`,
		"\x00\x01":                               "invalid character",
	} {
		os.WriteFile(path, []byte(text), 0o600)
		_, err := s.Open("x")
		if got := fmt.Sprint(err); err == nil || !strings.Contains(got, want) ||
			!strings.HasPrefix(got, "read conversation "+path+": the file is damaged: ") {
			t.Errorf("%q\n got %v\nwant %s", text, got, want)
		}
		if fault.Hint(err) != "to begin anew: mv "+path+" "+path+".old" || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: hint %q", text, fault.Hint(err))
		}
		if kept, _ := os.ReadFile(path); string(kept) != text {
			t.Errorf("%q became %q", text, kept)
		}
	}
}

func TestTooLargeToSave(t *testing.T) {
	if testing.Short() {
		t.Skip("long: writes 64 MB")
	}
	s := newStore(t)
	save(t, s, "x", talk...)
	th, err := s.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	if err := th.Save([]llm.Item{{Role: llm.User, Text: strings.Repeat("x", maxSize)}}); fault.KindOf(
		err) != fault.TooLarge || len(th.Items) != len(talk) {
		t.Errorf("saved: %v", err)
	}
	if items, err := load(s, "x"); err != nil || len(items) != len(talk) {
		t.Errorf("what was there is gone: %v", err)
	}
}

func TestTooLargeToRead(t *testing.T) {
	s := newStore(t)
	save(t, s, "x", talk...)
	os.Truncate(filepath.Join(s.Dir, "x.json"), maxSize+1)
	if _, err := load(s, "x"); fault.KindOf(err) != fault.TooLarge || fault.Hint(err) == "" {
		t.Errorf("read: %v", err)
	}
}

func TestNotJSON(t *testing.T) {
	s := newStore(t)
	th, err := s.Open("x")
	if err != nil {
		t.Fatal(err)
	}
	defer th.Close()
	if err := th.Save([]llm.Item{{Raw: []byte("{")}}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
}

func TestList(t *testing.T) {
	s := newStore(t)
	if all, err := s.List(); err != nil || all != nil {
		t.Errorf("%v, %v before there is one", all, err)
	}
	for _, name := range []string{"b", "a", "箱"} {
		save(t, s, name, talk...)
	}
	os.WriteFile(filepath.Join(s.Dir, ".b.json-123"), nil, 0o600)
	os.WriteFile(filepath.Join(s.Dir, "a.json.old"), nil, 0o600)
	os.Mkdir(filepath.Join(s.Dir, "dir.json"), 0o700)
	if got := names(t, s); !slices.Equal(got, []string{"a", "b", "箱"}) {
		t.Errorf("%q", got)
	}
	if _, err := (Store{filepath.Join(s.Dir, "a.json")}).List(); err == nil {
		t.Error("listed a file")
	}
}

func names(t testing.TB, s Store) (names []string) {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range all {
		if info.Bytes == 0 || info.Changed.IsZero() {
			t.Errorf("%+v", info)
		}
		names = append(names, info.Name)
	}
	return names
}

// FuzzDecode: what is read as a conversation is written and read the same again.
func FuzzDecode(f *testing.F) {
	text, _ := encode(talk)
	f.Add(text)
	f.Add([]byte(`{"version":1,"items":[{"role":"user","raw":null}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		items, err := decode(text)
		if err != nil {
			return
		}
		first, err := encode(items)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decode(first)
		if err != nil || len(again) != len(items) {
			t.Fatalf("%q: %v", first, err)
		}
		if second, _ := encode(again); string(second) != string(first) {
			t.Errorf("%q\n%q", first, second)
		}
	})
}
