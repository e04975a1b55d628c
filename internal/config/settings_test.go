package config

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
)

// TestSettingsText checks what parseSpecs does not: every attribute that is required, every default and range.
func TestSettingsText(t *testing.T) {
	c := &Config{specs: specs(), getenv: func(string) (string, bool) { return "", false }}
	seen := make(map[string]bool)
	for _, s := range c.specs {
		if seen[s.name] || s.parse == nil || s.helpText == "" || (s.local == nil) == (s.decides == "") && s.local == nil {
			t.Errorf("%s: it is there twice, or has no kind, no help, or neither local nor decides", s.name)
		}
		seen[s.name] = true
		if strings.Contains(s.help(), "{") && strings.Contains(s.helpText, "{range}") && s.bounds == "" {
			t.Errorf("%s: its kind has no range", s.name)
		}
		if s.fallback != "" {
			if _, err := s.parse(setting{words: []string{s.fallback}}); err != nil {
				t.Errorf("%s: default: %v", s.name, err)
			}
		}
	}
	for _, s := range c.specs {
		for _, name := range strings.Fields(s.with + " " + s.carries) {
			if !seen[name] {
				t.Errorf("%s: there is no %s", s.name, name)
			}
		}
	}
	for name := range computedDefaults {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}

// TestKeyTypes compares the type of each Key with that of its kind.
func TestKeyTypes(t *testing.T) {
	text, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	keys := regexp.MustCompile(`Key\[(.*)\]\("(.*)"\)`).FindAllStringSubmatch(string(text), -1)
	if len(keys) < 100 {
		t.Fatalf("%d keys", len(keys))
	}
	for _, k := range keys {
		s := specByName()[k[2]]
		if s == nil {
			t.Errorf("there is no %s", k[2])
			continue
		}
		if got := strings.ReplaceAll(fmt.Sprint(reflect.TypeOf(s.zero)), "config.", ""); got != k[1] {
			t.Errorf("%s is a Key[%s], and its kind %s", k[2], k[1], got)
		}
	}
	for _, f := range []ForgeKeys{GitHub, GitLab} {
		v := reflect.ValueOf(f)
		for i := range v.NumField() {
			s := specByName()[v.Field(i).String()]
			if s == nil || !strings.Contains(v.Field(i).Type().Name(), "["+fmt.Sprint(reflect.TypeOf(s.zero))+"]") {
				t.Errorf("%s: %v", v.Field(i), v.Field(i).Type())
			}
		}
	}
}
