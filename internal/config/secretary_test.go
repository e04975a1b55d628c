package config

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

// TestDocumentSpelling has the section as the document of the secretary has it.
func TestDocumentSpelling(t *testing.T) {
	w := newWorld(t, `
# BASH実行機能
bash_executor:
  enabled: true
  requery_on_result: true  # 実行後に再度LLM呼び出しするか
  log_commands: false
  max_actions_per_request: 7
  timeout: 45
`)
	c := mustLoad(t, w.named())
	got := fmt.Sprint(BashEnabled.Of(c), BashRequery.Of(c), BashLogCommands.Of(c), BashMaxActions.Of(c), BashTimeout.Of(c))
	file := filepath.Join(w.dir, fileName)
	if want := fmt.Sprintf("{true %[1]s:4} {true %[1]s:5} {false %[1]s:6} {7 %[1]s:7} {45s %[1]s:8}", file); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSecretaryDefaults(t *testing.T) {
	w := newWorld(t, "")
	c := mustLoad(t, w.source())
	for got, want := range map[string]string{
		fmt.Sprintln(BashEnabled.Of(c).V, BashRequery.Of(c).V, BashLogCommands.Of(c).V, BashMaxActions.Of(c).V,
			BashMaxRounds.Of(c).V): "true false true 5 3",
		fmt.Sprintln(BashRoot.Of(c).V, BashWhitelist.Of(c).V, BashNetwork.Of(c).V, BashSandbox.Of(c).V,
			len(BashPath.Of(c).V)): "false landlock-only 0",
		fmt.Sprintln(BashTimeout.Of(c).V, BashRateLimit.Of(c).V, BashCacheTTL.Of(c).V,
			BashParallel.Of(c).V): "30s 30 10s 4",
		fmt.Sprintln(BashMemory.Of(c).V, BashProcesses.Of(c).V, BashFiles.Of(c).V, BashFileSize.Of(c).V,
			BashOutput.Of(c).V): "2GB 256 1024 1GB 1MB",
		fmt.Sprintln(BashProtect.Of(
			c).V): "[.git/hooks .git/config .git/config.worktree .git/commondir .vscode .idea .envrc hako.yaml .aicli.json .llmcmdrc]",
		fmt.Sprintln(SecretaryLanguage.Of(c), SecretaryProactive.Of(c).V, SecretaryContext.Of(c).V,
			SecretaryCommands.Of(c).V): "{ja default} 0s 8192 map[]",
		SecretaryDatabase.Of(c).V: filepath.Join(w.dir, "home", ".local", "state", "hako", "secretary.db"),
		fmt.Sprintln(SpeechEnabled.Of(c).V, SpeechURL.Of(c).V, SpeechSpeaker.Of(c).V,
			SpeechStyle.Of(c).V): "true http://127.0.0.1:50032 3c37646f-3881-5374-2a83-149267990abc 0",
		fmt.Sprintln(SpeechSpeed.Of(c).V, SpeechVolume.Of(c).V, SpeechPitch.Of(c).V, SpeechIntonation.Of(c).V,
			SpeechPre.Of(c).V, SpeechPost.Of(c).V, SpeechRate.Of(c).V): "1 1 0 1 0.1 0.1 24000",
	} {
		if strings.TrimSpace(got) != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestSecretaryRanges has the ends of every range and what lies beyond them.
func TestSecretaryRanges(t *testing.T) {
	for name, tt := range map[string]struct{ good, bad string }{
		"bash_executor.enabled":                 {"true no", "maybe 2"},
		"bash_executor.max_actions_per_request": {"1 20", "0 21 5.5 five"},
		"bash_executor.max_rounds":              {"1 10", "0 11"},
		"bash_executor.parallel":                {"1 16", "0 17"},
		"bash_executor.rate_limit":              {"0 10000", "-1 10001"},
		"bash_executor.cache_ttl":               {"0 0s 500ms 24h", "-1s 25h soon"},
		"bash_executor.timeout":                 {"1 1s 3600 1h", "0 0s 999ms 3601 2h -5"},
		"bash_executor.sandbox":                 {"full landlock-only namespaces-only", "none Full off"},
		"bash_executor.memory":                  {"16MB 1TB 2G", "15MB 2TB 0 -1GB lots"},
		"bash_executor.processes":               {"1 100000", "0 100001"},
		"bash_executor.files":                   {"16 1000000", "15 1000001"},
		"bash_executor.file_size":               {"1 1TB", "0 2TB"},
		"bash_executor.output":                  {"1KB 1GB", "1023 2GB"},
		"bash_executor.path":                    {"/a ~/bin", "bin ./bin ../bin"},
		"bash_executor.readable":                {"/a", "a ~root/x"},
		"bash_executor.protect":                 {".git/hooks a/b/ c..d", "/etc .. ../x a/../.. . ./"},
		"secretary.language":                    {"ja en", "fr JA"},
		"secretary.proactive":                   {"0 60 1m 24h", "59s 25h -1m"},
		"secretary.context_tokens":              {"1024 10000000", "1023 10000001"},
		"speech.url": {"http://127.0.0.1:1 https://voice.example/",
			"127.0.0.1:1 ftp://x http://a:b@c"},
		"speech.speaker": {"3c37646f-3881-5374-2a83-149267990abc",
			"1 3c37646f38815374-2a83-149267990abc3c 3c37646f-3881-5374-2a83-149267990abg"},
		"speech.style":      {"0 2147483647", "-1 2147483648"},
		"speech.speed":      {"0.5 2 1e0", "0.49 2.01 NaN Inf fast"},
		"speech.volume":     {"0 2", "-0.1 2.1"},
		"speech.pitch":      {"-0.15 0.15", "-0.16 0.16"},
		"speech.intonation": {"0 2", "-1 3"},
		"speech.pre":        {"0 1.5", "-1 1.6"},
		"speech.post":       {"0 1.5", "-1 1.6"},
		"speech.rate":       {"16000 24000 44100 48000", "8000 24001 96000"},
		"speech.player":     {"pw-play paplay aplay afplay", "mpv sh /bin/aplay"},
	} {
		for word := range strings.FieldsSeq(tt.good) {
			mustLoad(t, newWorld(t, yamlOf(name, "'"+word+"'")).named())
		}
		for word := range strings.FieldsSeq(tt.bad) {
			w := newWorld(t, yamlOf(name, "'"+word+"'"))
			_, err := Load(w.named())
			if fault.KindOf(err) != fault.Invalid || !strings.HasPrefix(fmt.Sprint(err), "set "+name+": "+w.named().File+":2") ||
				fault.Hint(err) == "" {
				t.Errorf("%s: %s: %v | %s", name, word, err, fault.Hint(err))
			}
		}
	}
}

// What has no value by default can be set to none, over a file that sets one.
func TestSecretaryEmpty(t *testing.T) {
	for _, name := range []string{"bash_executor.root", "bash_executor.whitelist", "secretary.model", "secretary.name",
		"secretary.system", "speech.player", "speech.file"} {
		c := mustLoad(t, newWorld(t, yamlOf(name, "''")).named())
		if k, _ := c.find(name, ""); k.show(c).Value != "" || k.show(c).From == "default" {
			t.Errorf("%+v", k.show(c))
		}
	}
}

func TestSecretaryEnvironment(t *testing.T) {
	w := newWorld(t, "secretary: {model: a}")
	w.env["HAKO_BASH_READABLE"] = "/a, /b"
	w.env["HAKO_BASH_MEMORY"] = "512MB"
	w.env["HAKO_SECRETARY_MODEL"] = "ollama:qwen3"
	w.env["HAKO_SPEECH_URL"] = "http://voice.example:1/"
	c := mustLoad(t, w.named())
	got := fmt.Sprint(BashReadable.Of(c), BashMemory.Of(c), SecretaryModel.Of(c), SpeechURL.Of(c))
	if got != "{[/a /b] env HAKO_BASH_READABLE} {512MB env HAKO_BASH_MEMORY} {ollama:qwen3 env HAKO_SECRETARY_MODEL} {http://voice.example:1 env HAKO_SPEECH_URL}" {
		t.Error(got)
	}
}

func TestSecretaryCommands(t *testing.T) {
	w := newWorld(t, "secretary:\n  commands:\n    standup: git log --oneline -5\n    朝会: |\n      date\n      git status\n")
	c := mustLoad(t, w.named())
	if v := SecretaryCommands.Of(c).V; len(v) != 2 || v["standup"] != "git log --oneline -5" ||
		v["朝会"] != "date\ngit status" {
		t.Errorf("%q", v)
	}
	for text, want := range map[string]string{
		"{todo: ls}":         "@todo is a command that hako has",
		"{Search: ls}":       "@Search is a command that hako has",
		"{'a b': ls}":        "cannot be the name of a command",
		"{'': ls}":           "cannot be the name of a command",
		"{-x: ls}":           "cannot be the name of a command",
		"{'a@b': ls}":        "cannot be the name of a command",
		"{x: ''}":            "x: the text is empty",
		"{x: [ls]}":          "must be a single value",
		"[ls]":               "must hold names and values",
		"{x: \"ls \\e[2J\"}": "control characters",
	} {
		_, err := Load(newWorld(t, "secretary: {commands: "+text+"}").named())
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestSize(t *testing.T) {
	for n, want := range map[size]string{0: "0", 1023: "1023", 1024: "1KB", 1536: "1536", 1536 << 10: "1536KB",
		2 << 30: "2GB", 1 << 40: "1TB", 1 << 50: "1024TB"} {
		if got := n.String(); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestBrief(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", time.Second: "1s", 30 * time.Second: "30s", time.Minute: "1m",
		20 * time.Minute: "20m", time.Hour: "1h", 10 * time.Hour: "10h", 90 * time.Minute: "1h30m"} {
		if got := brief(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
