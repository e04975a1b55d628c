package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hako/internal/testload"
	"hako/llm/tokens"
	"hako/run/fault"
)

const one = `{"version":1,"workflow":[{"id":"s1","goal":"count","instructions":"wc -l","inputs":["fd 3"],"expects":"a number"}]}`

func steps(list string) string { return `{"version":1,"workflow":[` + list + `]}` }

// step makes one with the given id and inputs.
func step(id string, inputs ...string) string {
	in, _ := json.Marshal(inputs)
	return fmt.Sprintf(`{"id":%q,"goal":"g","instructions":"i","inputs":%s,"expects":""}`, id, in)
}

func TestParse(t *testing.T) {
	want, err := Parse(one)
	if err != nil || want.Workflow[0].ID != "s1" || want.Workflow[0].Inputs[0] != "fd 3" || want.Version != 1 {
		t.Fatalf("%+v, %v", want, err)
	}
	draft := strings.ReplaceAll(one, "count", "draft")
	for name, text := range map[string]string{
		"bare":               one,
		"blank around":       " \r\n" + one + "\n\n",
		"a mark before":      "\ufeff" + one,
		"fenced":             "```json\n" + one + "\n```\n",
		"fenced, no name":    "```\n  " + one + "```",
		"fenced with CRLF":   "Here it is:\r\n```json \r\n" + one + "\r\n```\r\nDone.",
		"after words":        "I would count {the lines}. So: " + one,
		"before words":       one + " Tell me if {that} is fine.",
		"after thinking":     "<think>Maybe " + draft + "? No.</think>\n" + one,
		"thoughts, no mark":  "Maybe " + draft + "? No.</think>\n" + one,
		"the last of two":    "First idea:\n" + draft + "\nBetter:\n" + one,
		"thinking, broken":   `<think>{"version":1,"workflow":[</think>` + one,
		"a fence after it":   one + "\nIt prints:\n```json\n{\"lines\": 12}\n```",
		"an ellipsis after":  one + "\nIt prints:\n```json\n{\"lines\": …}\n```",
		"other object first": `{"note":"plan follows"}` + "\n" + one,
		"indented":           strings.ReplaceAll(strings.ReplaceAll(one, "{", "{\n  "), ",", ",\n "),
		"names in order": `{"workflow":` + one[len(`{"version":1,"workflow":`):len(one)-1] +
			`,"metadata":null,"version":1}`,
		"Japanese words": "計画は次の通りです。\n" + one + "\n以上です。",
	} {
		p, err := Parse(text)
		if err != nil || !reflect.DeepEqual(p, want) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// A plan may be about the marks that models put around their thoughts.
func TestMarksInside(t *testing.T) {
	text := strings.ReplaceAll(one, "wc -l", "sed 's/<think>.*</think>//'")
	for _, before := range []string{"", "So: ", "<think>Hm.</think>\n"} {
		if p, err := Parse(before + text); err != nil || !strings.HasSuffix(p.Workflow[0].Instructions, "</think>//'") {
			t.Errorf("%q: %+v, %v", before, p, err)
		}
	}
}

func TestOptional(t *testing.T) {
	p, err := Parse(`{"version":1,"metadata":{"request":"数える","planner":null},"workflow":[{"id":"s1","goal":"g","instructions":"i"},{"id":"2_b","goal":"g","instructions":"i","inputs":null,"expects":null}]}`)
	if err != nil || p.Metadata.Request != "数える" || p.Workflow[0].Inputs != nil || p.Workflow[1].ID != "2_b" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestMistakes(t *testing.T) {
	many := strings.Repeat(step("x")+",", mostSteps) + step("y")
	for text, want := range map[string]string{
		"":                                    "there is no plan in the text | a plan is an object",
		"I cannot plan this.":                 "there is no plan in the text",
		"<think>" + one + "</think> I cannot": "there is no plan in the text",
		"[]":                                  "there is no plan in the text",
		`{"answer":42}`:                       `there is no field "answer" | it has version, metadata, workflow`,
		"```json\n{\"Version\":1}\n```":       `there is no field "Version" | did you mean version?`,
		one[:len(one)-3]:                      "it breaks off | the answer may have been cut",
		"{":                                   "it breaks off",
		one + "\nFinal:\n" + one[:len(one)-3]: "it breaks off",
		one + ` or {"version":1,,}`:           "it is not JSON: invalid character",
		"{version:1}":                         "it is not JSON: invalid character",
		`{"workflow":[` + step("a") + `]}`:    "the version is missing, not 1",
		`{"version":2,"workflow":[]}`:         "the version is 2, not 1",
		`{"version":"1","workflow":[]}`:       `the version is "1", not 1`,
		`{"version":1}`:                       "the workflow is not a list of steps, at least one",
		`{"version":1,"workflow":[]}`:         "the workflow is not a list of steps, at least one",
		`{"version":1,"workflow":{}}`:         "the workflow is not a list of steps",
		`{"version":1,"workflow":["count"]}`:  "read plan step 1: it is not an object in braces",
		`{"version":1,"version":1}`:           "version is there twice",
		`{"version":1,"metadata":{"author":"x"},"workflow":[` + step("a") +
			`]}`: `read plan metadata: there is no field "author"`,
		`{"version":1,"metadata":{"planner":["x"]},"workflow":[` + step("a") + `]}`: "metadata: planner is not a text",
		`{"version":1,"metadata":5,"workflow":[` + step("a") + `]}`:                 "metadata: it is not an object",
		steps(many): "it has 33 steps, at most 32 are taken | put together",
		steps(`{"id":"a","goal":"g","instruction":"i"}`):             `step 1: there is no field "instruction" | did you mean instructions?`,
		steps(`{"id":"a","goal":"g","instructions":"i","id":"b"}`):   "step 1: id is there twice",
		steps(step("a") + `,{"id":7,"goal":"g","instructions":"i"}`): "step 2: id is not a text",
		steps(`{"goal":"g","instructions":"i"}`):                     `step 1: "" is not an id | an id has`,
		steps(step("a/../b")):                                        `"a/../b" is not an id`,
		steps(step("-a")):                                            `"-a" is not an id`,
		steps(step("段階")):                                            `"段階" is not an id`,
		steps(step(strings.Repeat("a", 33))):                         "is not an id",
		steps(`{"id":"a","goal":" ","instructions":"i"}`):            "step a: it has no goal",
		steps(`{"id":"a","goal":"g","instructions":"\n"}`):           "step a: it has no instructions",
		steps(step("a") + "," + step("a")):                           "step a: two steps have this id",
		steps(step("a", "step b")):                                   `step a: there is no step "b"`,
		steps(step("load") + "," + step("b", "step laod")):           `there is no step "laod" | did you mean load?`,
		steps(step("a", "step a")):                                   "step a: it needs its own result: a needs a",
		steps(step("x") + "," + step("a", "step b") + "," + step("b", "step c") + "," +
			step("c", "step b")): "step b: it needs its own result: b needs c needs b",
		steps(step("a", "fd 3", "fd 3")): "step a: fd 3 is an input of it twice",
		steps(step("a", "fd 1")):         `"fd 1" is not an input | inputs are written`,
		steps(step("a", "fd 2")):         `"fd 2" is not an input`,
		steps(step("a", "fd -1")):        `"fd -1" is not an input`,
		steps(step("a", "fd 03")):        `"fd 03" is not an input`,
		steps(step("a", "fd 99999")):     `"fd 99999" is not an input`,
		steps(step("a", "a.txt")):        `"a.txt" is not an input`,
		steps(step("a", "")):             `"" is not an input`,
		steps(`{"id":"a","goal":"g","instructions":"i","inputs":"fd 3"}`):           "inputs is not a list of texts",
		steps(`{"id":"a","goal":"g","instructions":"i","inputs":[null]}`):           "inputs is not a list of texts",
		steps(step("a", strings.Split(strings.Repeat("fd 3,", 32)+"fd 3", ",")...)): "it has 33 inputs",
	} {
		p, err := Parse(text)
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); err == nil || p != nil || !strings.Contains(got, want) ||
			fault.KindOf(err) != fault.Invalid {
			t.Errorf("%.200q\n got %s\nwant %s", text, got, want)
		}
	}
	if _, err := Parse(one + strings.Repeat(" ", mostBytes)); fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
	if _, err := Parse(one + strings.Repeat(" ", mostBytes-len(one))); err != nil {
		t.Error(err)
	}
}

// What is nested and never ends must not be read over and over.
func TestHostile(t *testing.T) {
	size := mostBytes
	if testing.Short() {
		size /= 16
	}
	start := time.Now()
	for _, part := range []string{`{"version":`, "{", "```\n{", `{"version":1,"workflow":[`, `{"a":`, "[", `{"version":1}`,
		one} {
		text := strings.Repeat(part, size/len(part)-1)
		Parse(text)
		Parse(text + "!")
	}
	if took := time.Since(start); took > testload.Bound(30*time.Second) {
		t.Errorf("took %v", took)
	}
}

func TestJSON(t *testing.T) {
	p, err := Parse(steps(step("a") + "," + step("b", "step a", "fd 0")))
	if err != nil {
		t.Fatal(err)
	}
	p.Metadata = Metadata{Created: "2026-01-31T09:00:00Z", Planner: "gpt-x", Request: "a < b && c\n箱"}
	text := string(p.JSON())
	for _, want := range []string{`"version": 1`, `"request": "a < b && c\n箱"`, `"inputs": []`, "\n}\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	again, err := Parse(text)
	if err != nil || string(again.JSON()) != text || again.Metadata != p.Metadata {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestPrompt compares with a file, as every request begins with such a text.
func TestPrompt(t *testing.T) {
	p, err := Parse(steps(`{"id":"report","goal":"Write\n the report","instructions":"Read /tmp/errors.out.\r\n\r\n\nWrite three sentences in Japanese.","inputs":["step errors","step hosts","fd 4"],"expects":""},` +
		`{"id":"errors","goal":"count errors","instructions":"grep ERROR | sort | uniq -c > /tmp/errors.out","inputs":["fd 3"],"expects":" a line for\teach error "},` +
		`{"id":"hosts","goal":"list hosts","instructions":"cut -d' ' -f2 | sort -u > /tmp/hosts.out","inputs":["fd 3"]}`))
	if err != nil {
		t.Fatal(err)
	}
	p.Metadata = Metadata{Created: "now", Planner: "large-model", Request: "エラーを要約して\n\nStep x: not a step"}
	want, err := os.ReadFile(filepath.Join("testdata", "prompt.txt"))
	if got := p.Prompt(); err != nil || got != string(want) || got != p.Prompt() {
		t.Errorf("%v\n%s", err, got)
	}
	p.Metadata.Created, p.Metadata.Planner = "later", "another"
	if p.Prompt() != string(want) {
		t.Error("when and by whom it was made changes the text")
	}
}

func TestCheck(t *testing.T) {
	p, err := Parse(steps(step("a", "fd 3") + "," + step("b", "step a", "fd 0")))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check([]int{0, 3, 4}); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct {
		open []int
		want string
	}{
		{[]int{0, 4}, "check plan step a: fd 3 is not an input of this session | the inputs are fd 0, fd 4"},
		{[]int{3}, "check plan step b: fd 0 is not an input"},
		{nil, "| the inputs are none"},
	} {
		err := p.Check(tt.open)
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); !strings.Contains(got, tt.want) ||
			fault.KindOf(err) != fault.Invalid {
			t.Errorf("%v: %s", tt.open, got)
		}
	}
}

// TestSchema: everything is required and nothing else allowed, as services want
// it; and what keeps to it can be read.
func TestSchema(t *testing.T) {
	var s map[string]any
	if err := json.Unmarshal(planSchema(), &s); err != nil {
		t.Fatal(err)
	}
	var look func(s map[string]any)
	look = func(s map[string]any) {
		if items, ok := s["items"].(map[string]any); ok {
			look(items)
		}
		members, ok := s["properties"].(map[string]any)
		if !ok {
			return
		}
		var required []string
		for _, name := range s["required"].([]any) {
			required = append(required, name.(string))
		}
		slices.Sort(required)
		if names := slices.Sorted(maps.Keys(members)); !slices.Equal(names, required) || s["additionalProperties"] != false {
			t.Errorf("%v, required %v", names, required)
		}
		for _, m := range members {
			look(m.(map[string]any))
		}
	}
	look(s)
	if f := Format(); f.Name != "plan" || string(f.Schema) != string(planSchema()) {
		t.Error(f)
	}
	planSchema()[0] = 'x'
	if !json.Valid(planSchema()) {
		t.Error("the schema can be changed from outside")
	}
}

func TestTexts(t *testing.T) {
	for name, text := range map[string]string{"planner": Instructions(), "prompt": prompt} {
		n := tokens.Count(text)
		if t.Logf("%s: %d tokens", name, n); n > 480 || strings.Contains(text, "{steps}") {
			t.Errorf("%s: %d tokens", name, n)
		}
	}
	if !strings.Contains(Instructions(), "never more than 32") {
		t.Error(Instructions())
	}
	_, example, _ := strings.Cut(Instructions(), "as JSON:\n")
	if _, err := Parse(example); err != nil {
		t.Errorf("the example that planners see: %v", err)
	}
}

// FuzzParse: what is read is a plan that can be carried out, and stays the same
// when it is written and read again.
func FuzzParse(f *testing.F) {
	f.Add(one)
	f.Add("```json\n" + steps(step("a", "fd 0")+","+step("b", "step a", "fd 3")) + "\n```")
	f.Add("<think>{\"version\":</think> " + one + " {")
	f.Add(steps(step("a", "step b") + "," + step("b", "step a")))
	f.Add(`{"version":1,"metadata":{"created":"x"},"workflow":[{"id":"\u0061","goal":"g","instructions":"\ud800"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Invalid && k != fault.TooLarge || p != nil {
				t.Errorf("%v, %+v", err, p)
			}
			return
		}
		if order, cycle := p.order(); len(order) != len(p.Workflow) || cycle != nil || len(order) > mostSteps ||
			len(order) == 0 {
			t.Errorf("order %v, cycle %v", order, cycle)
		}
		if len(text) < mostBytes/8 { // escapes take more room
			again, err := Parse(string(p.JSON()))
			if err != nil || string(again.JSON()) != string(p.JSON()) || again.Prompt() != p.Prompt() {
				t.Errorf("%s\nread again: %v", p.JSON(), err)
			}
		}
	})
}
