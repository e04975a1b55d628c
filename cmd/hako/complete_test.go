package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/coder/queue"
	"hako/internal/app/secretary/store"
)

// completion asks what may stand at the last of words.
func completion(t *testing.T, words ...string) string {
	t.Helper()
	var out bytes.Buffer
	if got := Main(append([]string{"hako", cobra.ShellCompNoDescRequestCmd}, words...), strings.NewReader(""), &out,
		new(bytes.Buffer)); got != 0 {
		t.Fatalf("%q: status %d", words, got)
	}
	return out.String()
}

func TestValuesAreOffered(t *testing.T) {
	atHome(t)
	memory, err := store.Open(filepath.Join(os.Getenv("XDG_STATE_HOME"), "hako", "secretary.db"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := memory.NewSession("garden"); err != nil {
		t.Fatal(err)
	}
	if _, err := memory.Add(store.Todo{Title: "牛乳"}); err != nil {
		t.Fatal(err)
	}
	memory.Close()
	if got := Main([]string{"hako", "serve", "token", "add", "mika"}, strings.NewReader(""), io.Discard,
		io.Discard); got != 0 {
		t.Fatalf("add token: status %d", got)
	}
	for words, want := range map[string]string{
		"serve token remove ":      "mika\n:4",
		"serve token add --role o": "operator\n:4",
		"env jobs --stream std":    "stdout\nstderr\n:4",
		"run --model o":            "openai:\nollama:\n:6",
		"agent --model b":          "builtin\n:4",
		"env up --environment m":   "miniforge\n:4",
		"env build py":             "python\n:4",
		"policy check --profile h": "host\n:4",
		"policy check gre":         "grep\n:4",
		"exec hea":                 "head\n:4",
		"help po":                  "policy\n:4",
		"secretary --session ":     "garden\n:4",
		"todo complete ":           "1\n:4",
		"todo add --priority ":     "low\nnormal\nhigh\n:4",
		"cmd --preset code":        "code_review\n:4",
		"sh --limit t":             "time=\n:6",
		"run --force-tool web_f":   "web_fetch\n:4",
		"doctor sand":              "sandbox\n:4",
		"help exit":                "exit-status\n:4",
		"help env u":               "up\n:4",
		"sh --root ":               ":16",
		"audit query --limit ":     ":0",
		"audit query --what den":   "denied\n:4",
		"agent pause ":             ":4",
		"env down --task ":         ":4",
	} {
		if got := strings.TrimSpace(completion(t, strings.Split(words, " ")...)); got != want {
			t.Errorf("hako %s: %q, want %q", words, got, want)
		}
	}
}

// After the name of a command come the long options of its spec.
func TestOptionsAreOffered(t *testing.T) {
	atHome(t)
	if got := strings.TrimSpace(completion(t, "policy", "check", "grep --cou")); got != "grep --count\n:4" {
		t.Errorf("%q", got)
	}
	if got := strings.TrimSpace(completion(t, "exec", "ls", "x")); got != ":4" {
		t.Errorf("a second word: %q", got)
	}
}

// Looking for words makes nothing: who presses a key wants no files.
func TestCompletingLeavesNothing(t *testing.T) {
	home := atHome(t)
	for _, words := range []string{"secretary --session ", "todo get ", "agent stop ", "serve token remove ",
		"env down --task ", "run --continue="} {
		completion(t, strings.Split(words, " ")...)
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("it made %v", left)
	}
}

// atHome gives a test an empty home of its own.
func atHome(t *testing.T) string {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Chdir(t.TempDir())
	return home
}

// Each script is one its shell can read.
func TestScriptsParse(t *testing.T) {
	for shell, check := range map[string][]string{"bash": {"-n"}, "zsh": {"-n"}, "fish": {"--no-execute"}} {
		var out bytes.Buffer
		if got := Main([]string{"hako", "completion", shell}, strings.NewReader(""), &out, os.Stderr); got != 0 {
			t.Fatalf("completion %s: status %d", shell, got)
		}
		program, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here to read its script", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), "hako."+shell)
		if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		if said, err := exec.Command(program, append(check, file)...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", shell, err, said)
		}
	}
}

// wordsOf does for the script what the package bash-completion does, where that
// is not installed, and what bash does only while a key is pressed.
const wordsOf = `_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
__ltrim_colon_completions() { :; }
compopt() { :; }
`

// A real bash offers what hako knows.
func TestInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	atHome(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "hako")); err != nil {
		t.Skip(err)
	}
	script := wordsOf + `eval "$(hako completion bash)"
try() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMPREPLY=(); __start_hako; echo "${COMPREPLY[@]%% *}"; }
try hako pol
try hako env build no
try hako policy check --profile vi
`
	cmd := exec.Command(bash, "--norc", "-c", script)
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), asHako+"=1")
	out, err := cmd.CombinedOutput()
	if want := "policy\nnode\nvirtual\n"; err != nil || string(out) != want {
		t.Errorf("%v: got %q, want %q", err, out, want)
	}
}

// The tasks of the agent are offered as people write them.
func TestTasksAreOffered(t *testing.T) {
	atHome(t)
	conf, err := new(common).load()
	if err != nil {
		t.Fatal(err)
	}
	q, err := queue.Open(t.Context(), app.QueueOptions(conf))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := q.Put(t.Context(),
		queue.Item{ID: "github/acme/hello/issue/12",
			Payload: []byte(`{"repo":"acme/hello","number":12,"kind":"issue","title":"a bug"}`)}); err != nil {
		t.Fatal(err)
	}
	q.Close()
	if got := taskNames(t.Context(), conf); len(got) != 1 || got[0] != "acme/hello#12\tpending: a bug" {
		t.Errorf("%q", got)
	}
}
