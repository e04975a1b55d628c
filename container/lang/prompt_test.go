package lang

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var root = filepath.Join("..", "..")

func TestPromptIsTheSameInTheRoot(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "system_prompt_command_executor.txt"))
	if err != nil || string(text) != systemPrompt {
		t.Errorf("the file in the root of the project differs from that in this folder: %v", err)
	}
}

func TestPrompt(t *testing.T) {
	for name, tip := range map[string]string{
		"python": "pip install -r requirements.txt", "miniforge": "mamba env update -f environment.yml",
		"node": "npm install <package>",
		"java": "mvn dependency:resolve", "go": "go get <package>",
	} {
		l, _ := Find(name)
		text := Prompt("Tests: pytest {package_instructions}\n", l)
		for _, want := range []string{"## Command Execution Feature\n", "`command-executor_execute_command`",
			"`/workspace/project/`",
			"\n\nTests: pytest {package_instructions}\n\n", tip, name + " (" + l.Description + ")", "### Recommended Usage\n"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: there is no %q in it", name, want)
			}
		}
		if strings.Contains(text, "{allowed_commands_list}") || strings.Contains(text, "{environment}") ||
			strings.Count(text, "{package_instructions}") != 1 {
			t.Errorf("%s: something is not filled in, or filled in twice:\n%s", name, text)
		}
	}
}

func TestTable(t *testing.T) {
	table := Table([]Language{
		{Name: "python", Image: "coding-agent-executor-python:latest", Use: []string{"Pure Python projects", "Django/Flask"}},
		{Name: "odd", Image: "o:1", Use: []string{"a|b\n## New heading"}},
	})
	want := `## Execution Environment Selection

You must select an appropriate execution environment for this task. The following environments are available:

| Environment | Image | Recommended For |
|------------|-------|-----------------|
| python | coding-agent-executor-python:latest | Pure Python projects, Django/Flask |
| odd | o:1 | a\|b ## New heading |
`
	if table != want {
		t.Errorf("got\n%s\nwant\n%s", table, want)
	}
}

func TestChoose(t *testing.T) {
	images := map[string]string{"python": "p:1", "node": "n:1", "--rm": "x", "a\nb": "y"}
	for _, c := range []struct{ asked, fallback, name, warning string }{
		{"node", "python", "node", ""},
		{"Node", "python", "node", ""},
		{"", "python", "python", "no execution environment was selected; python is used"},
		{"ruby", "python", "python", `there is no execution environment "ruby" (there are: node, python); python is used`},
		{"ruby", "perl", "python", `there is no execution environment "ruby" (there are: node, python); python is used`},
		{"node\n", "python", "python",
			`there is no execution environment "node\n" (there are: node, python); python is used`},
		{"--rm", "python", "python", `there is no execution environment "--rm" (there are: node, python); python is used`},
		{"a\nb", "--rm", "python", `there is no execution environment "a\nb" (there are: node, python); python is used`},
		{"node python", "python", "python",
			`there is no execution environment "node python" (there are: node, python); python is used`},
	} {
		if name, warning := Choose(c.asked, images, c.fallback); name != c.name || warning != c.warning {
			t.Errorf("Choose(%q, …, %q): %q, %q", c.asked, c.fallback, name, warning)
		}
	}
	if name, warning := Choose("python", nil, "python"); name != "" || warning == "" {
		t.Errorf("of nothing %q was chosen: %q", name, warning)
	}
	if _, warning := Choose(strings.Repeat("x", 1<<20), images, "python"); len(warning) > 200 {
		t.Errorf("the warning has %d bytes", len(warning))
	}
}

func FuzzChoose(f *testing.F) {
	f.Add("python", "node", "go")
	f.Add("--privileged", "a\nb", "")
	f.Fuzz(func(t *testing.T, asked, other, fallback string) {
		available := map[string]string{"python": "p:1", other: "o:1"}
		name, _ := Choose(asked, available, fallback)
		if _, there := available[name]; !there || !isName(name) {
			t.Errorf("%q was chosen", name)
		}
	})
}
