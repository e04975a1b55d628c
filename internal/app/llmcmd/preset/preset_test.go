package preset

import (
	"io/fs"
	"strings"
	"testing"

	"hako/llm/tokens"
	"hako/run/fault"
)

func TestOurOwn(t *testing.T) {
	files, err := fs.Glob(texts, "*.md")
	if err != nil || len(files) != len(names) {
		t.Errorf("%d names for the files %q: %v", len(names), files, err)
	}
	for i, p := range All(nil) {
		n := tokens.Count(p.Text)
		if n > 125 {
			t.Errorf("%s has %d tokens, at most 125 wanted", p.Name, n)
		}
		t.Logf("%s: %d tokens", p.Name, n)
		if p.Name != names[i] || p.About == "" || len(p.About) > 60 || p.Text == "" || strings.HasPrefix(p.About, "#") ||
			strings.Contains(p.Text, p.About) {
			t.Errorf("%+v", p)
		}
		if !strings.Contains(p.Text, "fd 1") {
			t.Errorf("%s does not say where the result goes", p.Name)
		}
	}
}

func TestAll(t *testing.T) {
	user := []Preset{{"俳句", "a poem", "Write a haiku."}, {"general", "mine", "Do it."}, {"俳句", "another", "Write two."}}
	var got []string
	for _, p := range All(user) {
		got = append(got, p.Name+"="+p.About)
	}
	if list := strings.Join(got, " | "); !strings.HasPrefix(list, "general=mine | diff_patch=") ||
		!strings.HasSuffix(list, " | 俳句=another") || len(got) != 5 {
		t.Error(list)
	}
}

func TestFind(t *testing.T) {
	user := []Preset{{"haiku", "", "Write a haiku."}, {"general", "", "Do it."}}
	for name, want := range map[string]string{"haiku": "Write a haiku.", "general": "Do it.",
		"data_proc": load("data_proc").Text} {
		if p, err := Find(name, user); err != nil || p.Text != want || p.Name != name {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	for name, hint := range map[string]string{
		"genral":    "did you mean general?",
		"diffpatch": "did you mean diff_patch?",
		"haiky":     "did you mean haiku?",
		"autp":      "did you mean auto?",
		"poetry":    "the presets are auto, general, diff_patch, code_review, data_proc, haiku",
		"":          "the presets are auto, ",
		Choose:      "the presets are auto, ",
	} {
		_, err := Find(name, user)
		if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fault.Hint(err), hint) {
			t.Errorf("%q: %v | %s", name, err, fault.Hint(err))
		}
	}
}
