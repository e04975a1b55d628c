package auth

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"hako/internal/app/access"
	"hako/run/fault"
)

func newStore(t *testing.T) *Store {
	return &Store{Path: filepath.Join(t.TempDir(), "in", "tokens.json")}
}

func mustAdd(t *testing.T, s *Store, name string, role access.Role) string {
	t.Helper()
	secret, err := s.Add(name, role)
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestTokens(t *testing.T) {
	s := newStore(t)
	ann, bob := mustAdd(t, s, "ann", access.Operator), mustAdd(t, s, "bob", access.Reader)
	if len(ann) < 43+len(tokenPrefix) || ann == bob {
		t.Errorf("%q, %q", ann, bob)
	}
	// Another process with the same file.
	for _, s := range []*Store{s, {Path: s.Path}} {
		for secret, want := range map[string]access.Actor{ann: {Name: "ann", Role: access.Operator},
			bob: {Name: "bob", Role: access.Reader}} {
			who, key, ok, err := s.Verify(secret)
			if who != want || !ok || err != nil {
				t.Errorf("%v %v %v", who, ok, err)
			}
			if who, ok, _ := s.Holder(key); who != want || !ok {
				t.Errorf("holder %v %v", who, ok)
			}
		}
		for _, wrong := range []string{"", "x", ann[1:], ann + "x", strings.ToUpper(ann)} {
			if who, _, ok, err := s.Verify(wrong); ok || err != nil || who != (access.Actor{}) {
				t.Errorf("%q is taken for %v, %v", wrong, who, err)
			}
		}
	}
	list, err := s.List()
	if err != nil || len(list) != 2 || list[0].Name != "ann" || list[1].Role != access.Reader || list[0].Created.IsZero() {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	s := newStore(t)
	secret := mustAdd(t, s, "ann", access.Operator)
	text, err := os.ReadFile(s.Path)
	if err != nil || strings.Contains(string(text), secret) || strings.Contains(string(text), secret[len(tokenPrefix):]) {
		t.Errorf("%s, %v", text, err)
	}
	if info, _ := os.Stat(s.Path); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestRemovedTokenIsOut(t *testing.T) {
	s := newStore(t)
	ann, bob := mustAdd(t, s, "ann", access.Operator), mustAdd(t, s, "bob", access.Reader)
	_, key, _, _ := s.Verify(ann)
	other := &Store{Path: s.Path}
	if err := other.Remove("ann"); err != nil {
		t.Fatal(err)
	}
	if _, _, ok, _ := s.Verify(ann); ok {
		t.Error("it still counts")
	}
	if _, ok, _ := s.Holder(key); ok {
		t.Error("its key still counts")
	}
	if _, _, ok, _ := s.Verify(bob); !ok {
		t.Error("the other one is gone too")
	}
	if err := other.Remove("ann"); fault.KindOf(err) != fault.NotFound {
		t.Errorf("twice: %v", err)
	}
}

func TestEphemeral(t *testing.T) {
	s := newStore(t)
	secret, err := s.Ephemeral("start", access.Operator)
	if err != nil {
		t.Fatal(err)
	}
	if who, _, ok, err := s.Verify(secret); !ok || who.Role != access.Operator || err != nil {
		t.Errorf("%v %v %v", who, ok, err)
	}
	if _, _, ok, _ := (&Store{Path: s.Path}).Verify(secret); ok {
		t.Error("another start knows it")
	}
	if _, err := os.Stat(s.Path); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
	// A store without a file has nothing else.
	if _, err := new(Store).Add("ann", access.Reader); fault.KindOf(err) != fault.Invalid {
		t.Errorf("add without a file: %v", err)
	}
}

func TestBadNamesAndRoles(t *testing.T) {
	s := newStore(t)
	mustAdd(t, s, "ann", access.Reader)
	for _, c := range []struct {
		name string
		role access.Role
	}{{"", access.Reader}, {"a b", access.Reader}, {"a\nb", access.Reader}, {strings.Repeat("a", 65), access.Reader},
		{"bob", "root"}, {"bob", ""}, {"ann", access.Operator}} {
		if secret, err := s.Add(c.name, c.role); fault.KindOf(err) != fault.Invalid || secret != "" || fault.Hint(err) == "" {
			t.Errorf("%q %q: %q, %v", c.name, c.role, secret, err)
		}
	}
	mustAdd(t, s, "山田@home.x", access.Reader)
}

// A file that is open to others, or broken, lets nobody in but says so.
func TestBadFile(t *testing.T) {
	for name, spoil := range map[string]func(path string) error{
		"open to others": func(p string) error { return os.Chmod(p, 0o644) },
		"broken":         func(p string) error { return os.WriteFile(p, []byte("[{"), 0o600) },
		"unknown field": func(p string) error {
			return os.WriteFile(p, []byte(`[{"name":"a","role":"reader","admin":1}]`), 0o600)
		},
		"unknown role": func(p string) error { return os.WriteFile(p, []byte(`[{"name":"a","role":"root"}]`), 0o600) },
		"short hash": func(p string) error {
			return os.WriteFile(p, []byte(`[{"name":"a","role":"reader","hash":"00"}]`), 0o600)
		},
	} {
		s := newStore(t)
		secret := mustAdd(t, s, "ann", access.Operator)
		start, _ := s.Ephemeral("start", access.Operator)
		s.Verify(secret)
		if err := spoil(s.Path); err != nil {
			t.Fatal(err)
		}
		if _, _, ok, err := s.Verify(secret); ok || fault.KindOf(err) != fault.Invalid {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
		if _, _, ok, err := s.Verify(start); !ok || err != nil {
			t.Errorf("%s: the token of the start: %v, %v", name, ok, err)
		}
		if _, err := s.Add("bob", access.Reader); err == nil {
			t.Errorf("%s: it was overwritten", name)
		}
	}
}

func TestAddAtTheSameTime(t *testing.T) {
	path := newStore(t).Path
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := (&Store{Path: path}).Add(string(rune('a'+i)), access.Reader); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if list, err := (&Store{Path: path}).List(); len(list) != 8 || err != nil {
		t.Errorf("%d tokens, %v", len(list), err)
	}
}

func TestDigestText(t *testing.T) {
	d := digestOf("x")
	text, _ := json.Marshal(d)
	var back digest
	if err := json.Unmarshal(text, &back); err != nil || !back.same(d) || back.same(digestOf("y")) {
		t.Errorf("%s, %v", text, err)
	}
	if back.UnmarshalText([]byte(strings.Repeat("zz", 32))) == nil {
		t.Error("nonsense was read")
	}
}

// A name that is made of a key is that of one token alone.
func TestNamed(t *testing.T) {
	s := &Store{Path: filepath.Join(t.TempDir(), "d", "tokens.json")}
	named := func(secret string) string {
		who, key, ok, err := s.Verify(secret)
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
		return key.Named(who.Name)
	}
	before := named(mustAdd(t, s, "ann", access.Client))
	if err := s.Remove("ann"); err != nil {
		t.Fatal(err)
	}
	secret := mustAdd(t, s, "ann", access.Client)
	after := named(secret)
	if before == after || after != named(secret) || !strings.HasPrefix(after, "ann#") {
		t.Errorf("%s, %s", before, after)
	}
	if kept, _ := digestOf(secret).MarshalText(); strings.Contains(string(kept), after[4:]) {
		t.Errorf("%s shows a part of the hash", after)
	}
}
