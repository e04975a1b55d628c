package coder

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"hako/run/fault"
)

func TestReadPlan(t *testing.T) {
	bare, err := readPlan(goodPlan)
	if err != nil || len(bare.Notes) != 0 {
		t.Fatalf("%+v, %v", bare, err)
	}
	want := Selection{"python", "there is Python", []string{"setup"}, []Check{{Command: "check"}}}
	if !reflect.DeepEqual(bare.Environment, want) || bare.Goal.Objective != "Fix a.txt" ||
		bare.Decomposition.Subtasks[0] != (Part{"1", "append the word"}) || bare.Action.Order[0] != "1" {
		t.Errorf("%+v", bare)
	}
	for name, text := range map[string]string{
		"fenced":         "```json\n" + goodPlan + "\n```",
		"thinking":       "<think>Maybe {\"goal_understanding\": 1}? No.</think>\n" + goodPlan,
		"embedded":       "Here is my plan:\n\n" + goodPlan + "\n\nTell me what you think.",
		"fenced in text": "Here it is:\n```\n" + goodPlan + "\n```\nBye.",
		"wrapped":        `{"plan":` + goodPlan + `}`,
		"trailing comma": strings.TrimSuffix(goodPlan, "}") + ",}",
		"BOM":            "\ufeff" + goodPlan,
	} {
		got, err := readPlan(text)
		if err != nil || !reflect.DeepEqual(got, bare) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestOddPlans(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		ok   func(p *Plan) bool
	}{
		"environment is a name": {`{"goal_understanding":{"main_objective":"x"},"selected_environment":"node"}`,
			func(p *Plan) bool { return p.Environment.Name == "node" }},
		"environment is a number": {`{"goal_understanding":{"main_objective":"x"},"selected_environment":5}`,
			func(p *Plan) bool { return p.Environment.Name == "" && len(p.Notes) > 0 }},
		"environment is null": {`{"goal_understanding":{"main_objective":"x"},"selected_environment":null}`,
			func(p *Plan) bool { return p.Environment.Name == "" }},
		"goal is a text": {`{"goal_understanding":"fix it"}`,
			func(p *Plan) bool { return p.Goal.Objective == "fix it" }},
		"objective is a number": {`{"goal_understanding":{"main_objective":7}}`,
			func(p *Plan) bool { return p.Goal.Objective == "7" }},
		"objective is an object": {`{"goal_understanding":{"main_objective":{"a":1}},"action_plan":{"actions":["x"]}}`,
			func(p *Plan) bool { return p.Goal.Objective == "" && len(p.Notes) > 0 }},
		"criteria are one text": {`{"goal_understanding":{"main_objective":"x","success_criteria":"works"}}`,
			func(p *Plan) bool { return reflect.DeepEqual(p.Goal.Criteria, []string{"works"}) }},
		"criteria are objects": {`{"goal_understanding":{"main_objective":"x","success_criteria":[{"description":"works"},{"z":1},[1],null]}}`,
			func(p *Plan) bool {
				return reflect.DeepEqual(p.Goal.Criteria, []string{"works"}) && len(p.Notes) > 0
			}},
		"subtasks are texts": {`{"task_decomposition":{"subtasks":["one","two"]}}`,
			func(p *Plan) bool {
				return len(p.Decomposition.Subtasks) == 2 && p.Decomposition.Subtasks[1].Text == "two"
			}},
		"decomposition is a list": {`{"task_decomposition":[{"id":1,"description":"one"}]}`,
			func(p *Plan) bool {
				return len(p.Decomposition.Subtasks) == 1 && p.Decomposition.Subtasks[0] == (Part{"1", "one"})
			}},
		"setup is one command": {`{"action_plan":{"actions":["x"]},"selected_environment":{"name":"node","setup_commands":"npm ci"}}`,
			func(p *Plan) bool { return reflect.DeepEqual(p.Environment.Setup, []string{"npm ci"}) }},
		"setup is of wrong types": {`{"action_plan":{"actions":["x"]},"selected_environment":{"name":"node","setup_commands":[1,true,{"x":1},["y"],"","npm ci"]}}`,
			func(p *Plan) bool {
				return reflect.DeepEqual(p.Environment.Setup, []string{"npm ci"}) && len(p.Notes) > 0
			}},
		"verification in an object": {`{"action_plan":{"actions":["x"]},"selected_environment":{"name":"node","verification":{"commands":[{"command":"node -v","expected_output":"v20"}]}}}`,
			func(p *Plan) bool {
				return reflect.DeepEqual(p.Environment.Verification, []Check{{"node -v", "v20"}})
			}},
		"too many commands": {`{"action_plan":{"actions":["x"]},"selected_environment":{"name":"node","setup_commands":[` +
			strings.Repeat(`"a",`, 100) + `"b"]}}`,
			func(p *Plan) bool { return len(p.Environment.Setup) == maxCommands }},
		"too long a command": {`{"action_plan":{"actions":["x"]},"selected_environment":{"name":"node","setup_commands":["` +
			strings.Repeat("a", 5000) + `"]}}`,
			func(p *Plan) bool { return len(p.Environment.Setup) == 0 }},
		"name of several lines": {`{"action_plan":{"actions":["x"]},"selected_environment":{"name":"no\nde"}}`,
			func(p *Plan) bool { return p.Environment.Name == "no de" }},
	} {
		p, err := readPlan(c.text)
		if err != nil || !c.ok(p) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestNoPlanInIt(t *testing.T) {
	for _, text := range []string{"", " ", "{}", "[]", "null", "I have no plan.",
		`{"selected_environment":{"name":"node"}}`, `{"goal_understanding":{"main_objective":""}}`,
		`{"goal_understanding":{"main_objective":"x"},"selected_environment":{"name":"node","setup_commands":["rm -r /workspace/tm`,
		"<think>" + goodPlan, strings.Repeat("x", 300<<10), goodPlan[:len(goodPlan)/2]} {
		if p, err := readPlan(text); err == nil || fault.KindOf(err) == fault.Other {
			t.Errorf("%.60q: %+v, %v", text, p, err)
		}
	}
}

func FuzzReadPlan(f *testing.F) {
	f.Add(goodPlan)
	f.Add("```json\n" + goodPlan + "\n```")
	f.Add(`{"goal_understanding":"x","task_decomposition":[1,{"id":{}}],"action_plan":null,"selected_environment":["a"],"verification":{"commands":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		p, err := readPlan(text)
		if err != nil {
			return
		}
		if len(p.Environment.Setup) > maxCommands || len(p.Decomposition.Subtasks) > maxParts || len(p.Notes) > 10 ||
			strings.ContainsAny(p.Environment.Name, "\n\x00") {
			t.Errorf("%+v", p)
		}
		// What is kept of a plan can be read again.
		kept, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if again := new(Plan); json.Unmarshal(kept, again) != nil {
			t.Errorf("%s", kept)
		}
	})
}

// TestChangeReachesEveryText fails when a field is added and forgotten there.
func TestChangeReachesEveryText(t *testing.T) {
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.String:
			v.SetString("secret")
		case reflect.Struct:
			for i := range v.NumField() {
				fill(v.Field(i))
			}
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			fill(v.Index(0))
		}
	}
	p := new(Plan)
	fill(reflect.ValueOf(p).Elem())
	p.change(func(string) string { return "clean" })
	if text, _ := json.Marshal(p); strings.Contains(string(text), "secret") || !strings.Contains(string(text), "clean") {
		t.Errorf("%s", text)
	}
}

// Why a plan is none is said once, with what its members must be.
func TestWhyNoPlan(t *testing.T) {
	for text, want := range map[string]string{
		"": "read plan from the answer: there is no JSON object with goal_understanding, task_decomposition, action_plan, selected_environment in it",
		`{"phase":1,"goal_understanding":[],"selected_environment":"python"}`: "read plan: it says nothing that can be used: goal_understanding is a list, not an object; task_decomposition is missing; action_plan is missing",
		`{"goal_understanding":7,"task_decomposition":{},"action_plan":{}}`:   "read plan: it says nothing that can be used: goal_understanding is not an object",
		`{"goal_understanding":{},"task_decomposition":{},"action_plan":{}}`:  "read plan: it is empty",
		strings.Repeat("x", 300<<10):                                          "read plan from the answer: it is longer than 256 KB",
	} {
		_, err := readPlan(text)
		if err == nil || err.Error() != want ||
			!strings.Contains(fault.Hint(err), "goal_understanding is an object with the text main_objective") {
			t.Errorf("%.60q: %v (%s)", text, err, fault.Hint(err))
		}
	}
}
