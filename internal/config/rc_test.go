package config

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/quota"
	"hako/run/fault"
)

// llmcmd is the source of settings for that command.
func (w world) llmcmd() Source {
	src := w.source()
	src.Llmcmd = true
	return src
}

const rcHome = "home/" + rcName

const rcJSONText = `{
  "openai_api_key": "sk-rc", "openai_base_url": "https://rc.example/v1",
  "model": "gpt-4o", "internal_model": "gpt-4o-mini",
  "max_tokens": 32768, "temperature": 0.1, "max_api_calls": 1000, "timeout_seconds": 3600,
  "max_file_size": 104857600, "read_buffer_size": 65536, "max_retries": 0, "retry_delay_ms": 1500,
  "system_prompt": "", "default_prompt": "俳句", "disable_tools": true,
  "prompt_presets": {"俳句": {"key": "俳句", "description": "a  poem", "content": "Write\na haiku."}, "general": {"content": "Do it."}},
  "quota_max_tokens": 5000,
  "quota_weights": {"input_weight": 1.1, "input_cached_weight": 0, "output_weight": 4},
  "quota_usage": {"total_weighted_tokens": 12.5, "api_calls": 3},
  "model_quota_weights": {"gpt-4o": {"input_weight": 16.67, "input_cached_weight": 8.33, "output_weight": 66.67}, "gpt-4.1-mini": {"output_weight": 0.01}},
  "model_system_prompts": {"gpt-4o": "Be brief.", "o1": ""}
}`

const rcLinesText = `# my settings
openai_api_key = "sk-rc"   # keep it safe
openai_base_url='https://rc.example/v1'

model=gpt-4o
	internal_model = gpt-4o-mini
max_tokens=32768
temperature=0.1
max_api_calls=1000
timeout_seconds=3600	# an hour
max_file_size=104857600    # 100MB
read_buffer_size=65536
max_retries=0
retry_delay_ms=1500
system_prompt=             # empty means hako's own
default_prompt=俳句#1
disable_tools=Enabled
quota_max_tokens=5000
max_tokens=32768
`

func TestRCForms(t *testing.T) {
	for form, text := range map[string]string{"JSON": rcJSONText, "JSON with a mark": "\ufeff \n" + rcJSONText,
		"lines":           strings.ReplaceAll(rcLinesText, "俳句#1", "俳句"),
		"lines with CRLF": strings.ReplaceAll(strings.ReplaceAll(rcLinesText, "俳句#1", "俳句"), "\n", "\r\n")} {
		w := newWorld(t, "")
		path := w.private(t, rcHome, text)
		c := mustLoad(t, w.llmcmd())
		for _, check := range []struct{ got, want any }{
			{OpenAIKey.Of(c).V, "sk-rc"},
			{OpenAIBaseURL.Of(c).V, "https://rc.example/v1"},
			{ModelName.Of(c).V, "gpt-4o"},
			{LlmcmdInternalModel.Of(c).V, "gpt-4o-mini"},
			{ModelMaxOutput.Of(c).V, 32768},
			{LlmcmdTemperature.Of(c).V, maybe{0.1, true}},
			{c.Budget(quota.DefaultLimits()).Calls, int64(1000)},
			{ModelTimeout.Of(c).V, time.Hour},
			{c.Limits(quota.Strict()).FileSize, int64(100 << 20)},
			{LlmcmdReadSize.Of(c).V, 4096},
			{LlmcmdRetries.Of(c).V, 0},
			{LlmcmdRetryDelay.Of(c).V, 1500 * time.Millisecond},
			{LlmcmdSystemPrompt.Of(c), Value[string]{"", "default"}},
			{LlmcmdPreset.Of(c).V, "俳句"},
			{LlmcmdDisableTools.Of(c).V, true},
			{c.TotalTokens(), int64(5000)},
			{c.File, path},
			{c.Secrets(), []string{"sk-rc"}},
		} {
			if !reflect.DeepEqual(check.got, check.want) {
				t.Errorf("%s: got %v, want %v", form, check.got, check.want)
			}
		}
		if v := ModelName.Of(c); !regexp.MustCompile(regexp.QuoteMeta(path) + `:\d+$`).MatchString(v.From) {
			t.Errorf("%s: %+v", form, v)
		}
	}
}

func TestRCTables(t *testing.T) {
	w := newWorld(t, "")
	w.private(t, rcHome, rcJSONText)
	c := mustLoad(t, w.llmcmd())
	if got := c.Presets(); !slices.Equal(got,
		[]UserPreset{{"general", "", "Do it."}, {"俳句", "a poem", "Write\na haiku."}}) {
		t.Errorf("%q", got)
	}
	usual, perModel := c.Weights()
	if usual != (quota.Weights{Input: 5, Cached: 0, Output: 16}) || !maps.Equal(perModel, map[string]quota.Weights{
		"gpt-4o": {Input: 67, Cached: 34, Output: 267}, "gpt-4.1-mini": {Input: 5, Cached: 0, Output: 1}}) {
		t.Errorf("%+v, %+v", usual, perModel)
	}
	if c.SystemPrompt("gpt-4o") != "Be brief." || c.SystemPrompt("o1") != "" || c.SystemPrompt("other") != "" {
		t.Error(LlmcmdSystemPrompts.Of(c))
	}
	if notes := c.Notes(); len(notes) != 1 || !strings.Contains(notes[0], rcName+":10: quota_usage is not read") {
		t.Errorf("%q", notes)
	}
	for _, s := range c.Show() {
		if s.Name == "llmcmd.presets" && s.Value != "general, 俳句" || s.Name == "model.name" &&
			s.Env != "LLMCMD_MODEL HAKO_MODEL AICLI_MODEL" {
			t.Errorf("%+v", s)
		}
	}
}

// What the original writes itself can be read: nothing set at all, and lists that
// are not there.
func TestRCEmpty(t *testing.T) {
	for _, text := range []string{"", "\n# nothing\n", "{}",
		`{"prompt_presets":null,"quota_weights":{},"model_quota_weights":null,"model_system_prompts":{},"quota_usage":null,"model":"","openai_api_key":"","max_tokens":null}`,
		"model=\nopenai_api_key=\"\"\nmax_tokens= # none"} {
		w := newWorld(t, "")
		w.write(t, rcHome, text) // others may read it, there is no key in it
		if c := mustLoad(t, w.llmcmd()); len(c.set) != 0 {
			t.Errorf("%q: %v", text, c.set)
		}
	}
	c := mustLoad(t, newWorld(t, "").llmcmd())
	usual, perModel := c.Weights()
	if usual != quota.DefaultWeights() || perModel != nil || c.Presets() != nil || c.SystemPrompt("x") != "" ||
		LlmcmdPreset.Of(c).V != "general" ||
		LlmcmdTemperature.Of(c).V.Set || LlmcmdRetries.Of(c).V != 3 || LlmcmdRetryDelay.Of(c).V != time.Second ||
		LlmcmdReadSize.Of(c).V != 4096 || len(c.Notes()) != 0 {
		t.Errorf("%+v", c.Show())
	}
	w := newWorld(t, "")
	w.write(t, rcHome, "quota_max_tokens=0")
	if n := mustLoad(t, w.llmcmd()).TotalTokens(); n != quota.NoLimit {
		t.Errorf("no limit: %d", n)
	}
}

func TestRCOrder(t *testing.T) {
	w := newWorld(t, "")
	check := func(what string, src Source, want string) {
		t.Helper()
		c := mustLoad(t, src)
		for i, path := range c.files {
			c.files[i], _ = filepath.Rel(w.dir, path)
		}
		if got := fmt.Sprint(ModelName.Of(c).V, " ", c.files); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	const compat, yaml = "home/.aicli.json", "home/.config/hako/hako.yaml"
	w.write(t, compat, `{"model":"aicli"}`)
	w.write(t, yaml, "model: {name: yaml}\nquota: {model_weights: {a: {input: 2}, b: {input: 3}}}\nllmcmd: {presets: {p: {text: yaml}, q: {text: yaml}}}")
	w.write(t, rcHome, `{"model":"rc","model_quota_weights":{"b":{"output_weight":8}},"prompt_presets":{"q":{"content":"rc"}}}`)
	w.write(t, rcName, "model=stranger") // in a project: not read
	check("for others", w.source(), "yaml ["+compat+" "+yaml+"]")
	check("for llmcmd", w.llmcmd(), "rc ["+compat+" "+yaml+" home/.llmcmdrc]")
	c := mustLoad(t, w.llmcmd())
	if _, perModel := c.Weights(); perModel["a"].Input != 8 ||
		perModel["b"] != (quota.Weights{Input: 4, Cached: 1, Output: 32}) {
		t.Errorf("a row of the rc takes the place of one in the yaml: %v", perModel)
	}
	if got := fmt.Sprint(c.Presets()); got != "[{p  yaml} {q  rc}]" {
		t.Error(got)
	}
	w.env["AICLI_MODEL"] = "env"
	check("the environment is over it", w.llmcmd(), "env ["+compat+" "+yaml+" home/.llmcmdrc]")
	w.env["LLMCMD_MODEL"] = "own"
	check("its own variable is over that", w.llmcmd(), "own ["+compat+" "+yaml+" home/.llmcmdrc]")
	check("which is nothing to others", w.source(), "env ["+compat+" "+yaml+"]")
	c = mustLoad(t, w.llmcmd())
	if err := c.Set("model.name", "--model", "flag"); err != nil ||
		ModelName.Of(c) != (Value[string]{"flag", "flag --model"}) {
		t.Errorf("a flag: %v", err)
	}
	delete(w.env, "AICLI_MODEL")
	delete(w.env, "LLMCMD_MODEL")

	src := w.llmcmd()
	src.NoFile = true
	check("none wanted", src, " []")
	for name, text := range map[string]string{"mine.json": `{"model":"mine","max_retries":1}`,
		"mine.conf": "model=mine\nmax_retries=1", "mine.yaml": "model: {name: mine}"} {
		src := w.llmcmd()
		src.File = w.write(t, name, text)
		check("by name", src, "mine ["+name+"]")
	}
	src = w.source()
	src.File = filepath.Join(w.dir, rcHome)
	check("by its usual name, for others", src, "rc [home/.llmcmdrc]")
	w.env["HAKO_CONFIG"] = w.write(t, "other.json", `{"model":"aicli","search_provider":"brave"}`)
	check("by hako's variable", w.llmcmd(), "aicli [other.json]")
	delete(w.env, "HOME")
	delete(w.env, "HAKO_CONFIG")
	w.write(t, fileName, "run: {turns: 1}")
	check("without a home", w.llmcmd(), " [hako.yaml]")
	src = w.llmcmd()
	src.File = filepath.Join(w.dir, "none.rc")
	if _, err := Load(src); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a missing file: %v", err)
	}
}

func TestRCEnvironment(t *testing.T) {
	w := newWorld(t, "")
	w.env = map[string]string{"LLMCMD_MODEL": "m", "LLMCMD_MAX_TOKENS": "100", "LLMCMD_TEMPERATURE": "2",
		"LLMCMD_MAX_API_CALLS": " 7 ", "LLMCMD_TIMEOUT": "30", "LLMCMD_MAX_FILE_SIZE": "1MB",
		"LLMCMD_READ_BUFFER_SIZE": "512", "LLMCMD_MAX_RETRIES": "1", "LLMCMD_RETRY_DELAY": "0", "HAKO_QUOTA_CALLS": "9"}
	c := mustLoad(t, w.llmcmd())
	got := fmt.Sprint(ModelName.Of(c), ModelMaxOutput.Of(c).V, LlmcmdTemperature.Of(c).V, c.Budget(quota.Limits{}).Calls,
		ModelTimeout.Of(c).V,
		c.Limits(quota.ScriptLimits{}).FileSize, LlmcmdReadSize.Of(c).V, LlmcmdRetries.Of(c).V, LlmcmdRetryDelay.Of(c))
	if want := "{m env LLMCMD_MODEL} 100 2 7 30s 1048576 512 1 {0s env LLMCMD_RETRY_DELAY}"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	w.env["LLMCMD_MAX_TOKENS"] = "32769"
	_, err := Load(w.llmcmd())
	if fault.KindOf(err) != fault.Invalid ||
		fmt.Sprint(err) != `set max_tokens: env LLMCMD_MAX_TOKENS: "32769" is not a whole number from 1 to 32768` {
		t.Error(err)
	}
	if c, err := Load(w.source()); err != nil || c.Budget(quota.Limits{}).Calls != 9 {
		t.Errorf("llmcmd's variables are nothing to others: %v", err)
	}
}

func TestRCExampleNamesEveryVariable(t *testing.T) {
	c := mustLoad(t, newWorld(t, "").source())
	for _, k := range rcKeys() {
		if _, err := c.find(k.to, ""); err != nil {
			t.Errorf("%s: %v", k.name, err)
		}
		for env := range strings.FieldsSeq(k.env) {
			if !regexp.MustCompile(`\b` + env + `\b`).MatchString(Example()) {
				t.Errorf("%s is not in the example", env)
			}
		}
	}
}

func TestRCMistakes(t *testing.T) {
	for text, want := range map[string]string{
		// lines
		"model":                              rcName + ":1: it is not name=value | write model=gpt-4o-mini, or",
		"llmcmd:\n  preset: general":         rcName + ":1: it is not name=value",
		"\n\nmodle=x":                        rcName + `:3: there is no setting "modle" | did you mean model?`,
		"Model=x":                            `there is no setting "Model" | did you mean model?`,
		"export model=x":                     "this is not a shell script | write it without export",
		"search_provider=brave":              `there is no setting "search_provider" | it may hold openai_api_key, `,
		"=x":                                 "the name is not that of a setting",
		"sk-pw123=x":                         "the name is not that of a setting",
		"openai_api_key sk-pw123=":           "the name is not that of a setting",
		"openai_api_key: sk-pw123":           "it is not name=value",
		"openai_api_key=sk pw123":            "a character in it that no key has",
		"openai_api_key='sk-pw123":           "openai_api_key: the quotes are not closed",
		`openai_api_key="sk-pw123"pw123`:     "openai_api_key: there is something after the quotes",
		"model=a\nmodel=b":                   rcName + ":2: model is set twice",
		"prompt_presets={}":                  "prompt_presets can only be set in the JSON form | write the whole file as",
		"quota_weights=1":                    "quota_weights can only be set in the JSON form",
		"system_prompt=Use # for headings":   "system_prompt: it has a # in it; put quotes",
		"max_tokens=0":                       `set max_tokens: DIR/home/.llmcmdrc:1: "0" is not a whole number from 1 to 32768`,
		"max_tokens=many":                    "from 1 to 32768",
		"max_tokens=4096.5":                  "from 1 to 32768",
		"temperature=2.1":                    `"2.1" is not a number from 0 to 2`,
		"temperature=NaN":                    "from 0 to 2",
		"temperature=0x1":                    "from 0 to 2",
		"max_api_calls=1001":                 "from 1 to 1000",
		"timeout_seconds=3601":               "from 1 to 3600",
		"timeout_seconds=5m":                 "from 1 to 3600",
		"max_file_size=104857601":            "is not a size from 1 to 104857600 (100MB)",
		"max_file_size=0":                    "from 1 to 104857600",
		"read_buffer_size=65537":             "from 1 to 65536",
		"max_retries=11":                     "from 0 to 10",
		"max_retries=-1":                     "from 0 to 10",
		"retry_delay_ms=60001":               "from 0 to 60000",
		"quota_max_tokens=-1":                "from 0, which means no limit, to",
		"disable_tools=perhaps":              "neither true nor false",
		"openai_base_url=rc.example":         "is not an address",
		"openai_base_url=https://a:pw123@b/": "a name or password in it",
		"model=a\x01b":                       "control characters",
		"system_prompt=a\x1b[2Jb":            "control characters",
		"system_prompt=\xff\xfe":             "not UTF-8",

		// JSON
		"{":               "the file breaks off",
		`{"model":"x",}`:  "it is not JSON",
		`{"model":"x"} y`: "something after the closing brace",
		"{\n\"modle\":\"x\"}": rcName +
			`:2: there is no setting "modle" | did you mean model?`,
		`{"model":"x","model":"x"}`:                          "model is set twice",
		`{"model":5}`:                                        "model must be a text in quotes",
		`{"max_tokens":"5"}`:                                 "max_tokens must be a number without quotes",
		`{"max_tokens":5.0}`:                                 "from 1 to 32768",
		`{"max_tokens":{}}`:                                  "max_tokens must be a number without quotes",
		`{"disable_tools":"yes"}`:                            "disable_tools must be true or false without quotes",
		`{"temperature":-0.1}`:                               "from 0 to 2",
		`{"openai_api_key":"sk pw123"}`:                      "a character in it that no key has",
		`{"sk-pw123":"x"}`:                                   "the name is not that of a setting",
		`{"prompt_presets":[]}`:                              "prompt_presets must hold names and values in braces",
		`{"prompt_presets":{"a":"x"}}`:                       "a must hold names and values in braces",
		`{"prompt_presets":{"a":{"contents":"x"}}}`:          `there is no setting "contents" | did you mean content?`,
		`{"prompt_presets":{"a":{"key":"a"}}}`:               "set llmcmd.presets: ",
		`{"prompt_presets":{"a":{"content":1}}}`:             "content must be a text in quotes",
		`{"prompt_presets":{"auto":{"content":"x"}}}`:        `"auto" cannot be the name of a preset`,
		`{"prompt_presets":{"":{"content":"x"}}}`:            `"" cannot be the name of a preset`,
		`{"prompt_presets":{"a":{"content":"x"},"a":{}}}`:    "a is set twice",
		`{"quota_weights":{"input":1}}`:                      `there is no setting "input" | it may hold input_weight, `,
		`{"quota_weights":{"input_wieght":1}}`:               "did you mean input_weight?",
		`{"quota_weights":{"input_weight":-1}}`:              `"-1" is not a number from 0 to 10000`,
		`{"quota_weights":{"input_weight":1e9}}`:             "from 0 to 10000",
		`{"quota_weights":{"output_weight":"4"}}`:            "output_weight must be a number without quotes",
		`{"model_quota_weights":{"m":{"output_weight":-1}}}`: `m: output: "-1" is not a number`,
		`{"model_quota_weights":{"m":4}}`:                    "m must hold names and values in braces",
		`{"model_system_prompts":{"m":{"content":"x"}}}`:     "m must be a text in quotes",
		`{"model_system_prompts":{"m":"\u001b"}}`:            "m: the text has control characters",
		`{"quota_usage":{]}`:                                 "it is not JSON",
	} {
		w := newWorld(t, "")
		w.private(t, rcHome, text)
		_, err := Load(w.llmcmd())
		got := fmt.Sprint(err, " | ", fault.Hint(err))
		if err == nil || !strings.Contains(got, strings.ReplaceAll(want, "DIR", w.dir)) ||
			fault.KindOf(err) != fault.Invalid || strings.Contains(got, "pw123") {
			t.Errorf("%q\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestRCQuotes(t *testing.T) {
	for line, want := range map[string]string{
		`system_prompt="Use # for headings" # really`: "Use # for headings",
		`system_prompt='Say "no" # never'`:            `Say "no" # never`,
		`system_prompt="Say "no" now"`:                `Say "no" now`,
		`system_prompt=日本語で、"簡潔に"`:                    `日本語で、"簡潔に"`,
		`system_prompt=C#で書く`:                         "C#で書く",
		`system_prompt=a=b`:                           "a=b",
	} {
		w := newWorld(t, "")
		w.write(t, rcHome, line)
		if got := LlmcmdSystemPrompt.Of(mustLoad(t, w.llmcmd())).V; got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	w := newWorld(t, "")
	w.write(t, rcHome, `{"prompt_presets":{"a":{"key":"b","content":"x"}}}`)
	if notes := mustLoad(t, w.llmcmd()).Notes(); len(notes) != 1 ||
		!strings.Contains(notes[0], `the preset is called "a"`) {
		t.Errorf("%q", notes)
	}
}

func TestRCPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	for _, text := range []string{"openai_api_key=sk-pw123", `{"openai_api_key":"sk-pw123"}`} {
		w := newWorld(t, "")
		path := w.write(t, rcHome, text)
		_, err := Load(w.llmcmd())
		if got := fmt.Sprint(err); fault.Hint(err) != "chmod 600 "+path || !strings.Contains(got, "others may read") ||
			strings.Contains(got, "pw123") {
			t.Errorf("%v | %s", err, fault.Hint(err))
		}
		src := w.llmcmd()
		src.File = path
		if _, err := Load(src); fault.Hint(err) != "chmod 600 "+path {
			t.Errorf("named: %v", err)
		}
		if _, err := Load(w.source()); err != nil {
			t.Errorf("others do not read it: %v", err)
		}
		os.Chmod(path, 0o600)
		before, _ := os.Stat(path)
		if v := OpenAIKey.Of(mustLoad(t, w.llmcmd())); v.V != "sk-pw123" {
			t.Errorf("%+v", v)
		}
		if after, _ := os.Stat(path); !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
			t.Error("it was written to")
		}
	}
	w := newWorld(t, "")
	os.Chmod(w.write(t, rcHome, "model=x"), 0o666)
	if _, err := Load(w.llmcmd()); !strings.HasPrefix(fault.Hint(err), "chmod go-w ") {
		t.Errorf("others can write it: %v", err)
	}
}

// A stranger's project must not get the key of the rc by naming an address.
func TestRCKeyStaysAtHome(t *testing.T) {
	w := newWorld(t, "openai: {base_url: 'https://evil.example/v1'}")
	w.private(t, rcHome, "openai_api_key=sk-1")
	if _, err := Load(w.llmcmd()); fault.KindOf(err) != fault.Denied {
		t.Error(err)
	}
	w.write(t, fileName, "openai: {base_url: 'http://127.0.0.1:9/v1'}")
	if _, err := Load(w.llmcmd()); fault.KindOf(err) != fault.Denied {
		t.Errorf("to a port of this machine: %v", err)
	}
	w.private(t, rcHome, "openai_api_key=sk-1\nopenai_base_url=https://mine.example")
	if v := OpenAIBaseURL.Of(mustLoad(t, w.llmcmd())); v.V != "https://mine.example" {
		t.Errorf("%+v", v)
	}
}

func TestTablesInYAML(t *testing.T) {
	w := newWorld(t, "quota:\n  weights: {input: 2, cached: 0.3}\n  model_weights:\n    gpt-4.1-mini: {output: 1.6}\n    none: {}\n"+
		"llmcmd:\n  temperature: 0\n  retry_delay: 0\n  system_prompt: |\n    One.\n    Two.\n  presets:\n    p: {text: T, about: }\n  system_prompts: {'qwen3:8b': Be kind.}\n")
	c := mustLoad(t, w.named())
	usual, perModel := c.Weights()
	if usual != (quota.Weights{Input: 8, Cached: 2, Output: 16}) ||
		perModel["gpt-4.1-mini"] != (quota.Weights{Input: 8, Cached: 2, Output: 7}) || perModel["none"] != usual {
		t.Errorf("%v, %v", usual, perModel)
	}
	if c.SystemPrompt("qwen3:8b") != "One.\nTwo." || LlmcmdTemperature.Of(c).V != (maybe{0, true}) ||
		LlmcmdRetryDelay.Of(c).V != 0 || fmt.Sprint(c.Presets()) != "[{p  T}]" {
		t.Errorf("%+v", c.Show())
	}
	for _, s := range c.Show() {
		if strings.Contains(s.Value, "\n") {
			t.Errorf("%s is shown on more than one line", s.Name)
		}
	}
	for file, want := range map[string]string{
		"llmcmd: {presets: [a]}":                                           "llmcmd.presets must hold names and values",
		"llmcmd: {presets: {a: x}}":                                        "llmcmd.presets.a must hold names and values",
		"llmcmd: {presets: {a: {txt: x}}}":                                 `hako.yaml:1: there is no setting "txt" | did you mean text?`,
		"llmcmd: {presets: {a: {text: [x]}}}":                              "llmcmd.presets.a.text must be a single value",
		"llmcmd: {presets: {a: {text: x, text: y}}}":                       "llmcmd.presets.a.text is set twice",
		"llmcmd: {presets: {a: {text: x}, a: {text: x}}}":                  "llmcmd.presets.a is set twice",
		"llmcmd: {presets: {a: {about: x}}}":                               "a: the text is empty",
		"llmcmd: {system_prompts: {a: {text: x}}}":                         "llmcmd.system_prompts.a must be a single value",
		"llmcmd: {system_prompts: {a: ''}}":                                "a: the text is empty",
		"llmcmd: {preset: &a x, system_prompts: {m: *a}}":                  "must be a single value",
		"quota: {model_weights: {m: {input: heavy}}}":                      `m: input: "heavy" is not a number from 0 to 10000`,
		"quota: {weights: {input: -1}}":                                    "from 0 to 10000",
		"quota: {weight: {input: 1}}":                                      "did you mean quota.weights?",
		"llmcmd: {temperature: 3}":                                         "from 0 to 2",
		"llmcmd: {retry_delay: 61s}":                                       "from 0s to 60s",
		"llmcmd: {retries: 11}":                                            "from 0 to 10",
		"llmcmd: {read_size: 0}":                                           "from 1 to 65536",
		"llmcmd: {system_prompt: " + strings.Repeat("x", maxProse+1) + "}": "at most 65536 are taken",
	} {
		_, err := Load(newWorld(t, file).named())
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); err == nil || !strings.Contains(got, want) {
			t.Errorf("%.100q\n got %s\nwant %s", file, got, want)
		}
	}
	if err := c.Set("quota.model_weights", "--weights", "x"); err == nil {
		t.Error("a table was set by a word")
	}
}

// FuzzRC: whatever the file holds, it sets something sensible or is refused, and
// no key goes unnoticed.
func FuzzRC(f *testing.F) {
	for _, text := range []string{rcJSONText, rcLinesText, "model = 'x' # y",
		`{"model_quota_weights":{"a":{"input_weight":1}}`, "openai_api_key=\"a\"b\""} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := &Config{specs: specs(), set: make(map[string]setting), getenv: func(string) (string, bool) { return "", false }}
		secret, err := c.parseRC("f", false, text)
		if err != nil && fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", text, err)
		}
		if _, set := c.set[string(OpenAIKey)]; set && !secret {
			t.Errorf("%q: a key went unnoticed", text)
		}
		for _, k := range c.specs {
			if c.set[k.name].words == nil {
				continue
			}
			if _, err := k.parse(c.set[k.name]); err != nil {
				t.Errorf("%q: %s is %+v", text, k.name, c.set[k.name])
			}
		}
		c.Show()
		c.Weights()
	})
}
