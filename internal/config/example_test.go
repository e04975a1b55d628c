package config

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

func TestExampleIsTheOneInTheTree(t *testing.T) {
	there, err := os.ReadFile(filepath.Join("..", "..", "hako.yaml.example"))
	if err != nil || string(there) != Example() {
		t.Errorf("hako.yaml.example is not internal/config/example.yaml: %v", err)
	}
}

// TestExample reads the example as it is, where nothing is set, and with all #
// taken away, where everything is set, to its default if it has one.
func TestExample(t *testing.T) {
	w := newWorld(t, Example())
	plain, err := Load(w.source())
	if err != nil || len(plain.set) != 0 {
		t.Fatalf("%v, %v", plain.set, err)
	}
	full := full(t, w)
	// These depend on who asks, or on where the home is, or on other settings.
	free := []string{"audit.path", "secretary.database", "github.enabled", "gitlab.enabled"}
	for i, k := range full.specs {
		name := k.name
		if _, ok := full.set[name]; !ok {
			t.Errorf("%s is not in the example", name)
		}
		want, got := plain.specs[i].show(plain), k.show(full)
		if usual := want.Value; usual != "" && usual != got.Value && !slices.Contains(free, name) {
			t.Errorf("%s is %s in the example, %s by default", name, got.Value, usual)
		}
	}
}

func TestExampleNamesEveryVariable(t *testing.T) {
	w := newWorld(t, "")
	c, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	generated := regexp.MustCompile(`^HAKO_(LIMIT|QUOTA|BASH|SECRETARY|SPEECH|AGENT|GITHUB|GITLAB|PLANNING|QUEUE)_`)
	for _, s := range c.Show() {
		for _, env := range regexp.MustCompile(`\S+`).FindAllString(s.Env, -1) {
			if !generated.MatchString(env) && !regexp.MustCompile(fmt.Sprintf(`\b%s\b`, env)).MatchString(Example()) {
				t.Errorf("%s: %s is not in the example", s.Name, env)
			}
		}
	}
}
