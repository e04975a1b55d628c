package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestMisspeltVariables(t *testing.T) {
	for pair, want := range map[string]string{
		"HAKO_MODLE=x":                  "HAKO_MODEL",
		"HAKO_LIMITS_TIME=5s":           "HAKO_LIMIT_TIME",
		"HAKO_QUOTA_TOKEN=5":            "HAKO_QUOTA_TOKENS",
		"HAKO_CONFG=x":                  "HAKO_CONFIG",
		"HAKO_MODEL_NAME=x":             "HAKO_MODEL",
		"HAKO_SEARCH_PROVIDER=brave":    "AICLI_SEARCH_PROVIDER",
		"HAKO_BASH_EXECUTOR_TIMEOUT=5s": "HAKO_BASH_TIMEOUT",
		"LLMCMD_MAX_TOKEN=5":            "LLMCMD_MAX_TOKENS",
		"AICLI_MODELS=x":                "AICLI_MODEL",
		"HAKO_MODEL=x":                  "",
		"HAKO_MODLE=":                   "",
		"HAKO_REQUIRE_TOOLS=1":          "",
		"HAKO_TEST_ANYTHING=1":          "",
		"HAKO_MCP_TOKEN=x":              "",
		"HAKO_NATS_PASSWORD=x":          "",
		"HAKO_OF_SOMEBODY_ELSE=x":       "",
		"OTHER_MODLE=x":                 "",
		"LLMCMD_MODEL=x":                "",
	} {
		notes := MisspeltVariables([]string{"PATH=/bin", pair})
		name, _, _ := strings.Cut(pair, "=")
		switch {
		case want == "" && notes == nil:
		case want != "" && len(notes) == 1 && strings.Contains(notes[0], name) && strings.HasSuffix(notes[0], " "+want+"?"):
		default:
			t.Errorf("%s: %q, want %q", pair, notes, want)
		}
	}
}

// TestVariablesAreListed looks for variables in the program that the list lacks:
// who sets them would be told that they mean nothing.
func TestVariablesAreListed(t *testing.T) {
	literal := regexp.MustCompile(`"((?:HAKO|LLMCMD|AICLI)_[A-Z][A-Z0-9_]*[A-Z0-9])[="]`)
	known := variables()
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range literal.FindAllStringSubmatch(string(text), -1) {
			test := strings.HasSuffix(path, "_test.go") && nearestVariable(m[1], known) == "" ||
				strings.HasSuffix(path, "variables_test.go")
			if !slices.Contains(known, m[1]) && !test {
				t.Errorf("%s: %s is not listed", path, m[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
