package mcpserver

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool"
	"hako/internal/app/records"
	"hako/internal/editor"
	"hako/internal/redact"
	"hako/policy"
	"hako/run"
	"hako/run/fault"
)

// allTools returns the tools.
func (d *Server) allTools() []*toolSpec {
	all := slices.Concat(d.sandboxTools(), []*toolSpec{d.executeTool(), d.commandTool(), d.editorTool()},
		d.fileTools(), d.jobTools())
	for _, t := range d.opts.Tools {
		all = append(all, d.passedTool(t))
	}
	if d.opts.Policy != nil {
		all = append(all, d.policyTool())
	}
	for _, o := range all {
		o.InputSchema, o.OutputSchema = encodeSchema(o, o.InputSchema), encodeSchema(o, o.OutputSchema)
	}
	return all
}

// encodeSchema encodes a schema once: the SDK would do so in every call.
func encodeSchema(o *toolSpec, schema any) any {
	if schema == nil {
		return nil
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		panic("tool " + o.Name + ": " + err.Error())
	}
	return json.RawMessage(raw)
}

// editorOut is the result of the editor. success, content and error are always present, as coding agents expect.
type editorOut struct {
	Success bool   `json:"success"`
	Content string `json:"content"`
	// Redacted is omitted if zero, so that clients see only known fields.
	Redacted int      `json:"redacted,omitempty" jsonschema:"places of content where [redacted] stands instead of a secret; the file has the secret"`
	Note     string   `json:"note,omitempty" jsonschema:"the same in words"`
	Error    *problem `json:"error" jsonschema:"null if it was done"`
}

// editorTool is the text editor, which parses its arguments itself.
func (d *Server) editorTool() *toolSpec {
	def := editor.Definition()
	takes := new(jsonschema.Schema)
	if err := json.Unmarshal(def.Schema, takes); err != nil {
		panic("tool " + def.Name + ": " + err.Error())
	}
	takes.Properties["sandbox_id"] = &jsonschema.Schema{Type: "string",
		Description: "Default: your only sandbox; one is made if you have none"}
	return &toolSpec{
		Tool: &sdk.Tool{Name: def.Name, Title: "Edit a file", Description: def.Text, InputSchema: takes,
			OutputSchema: schemaOf[editorOut](def.Name), Annotations: toolHints{destructive: true}.annotations("Edit a file")},
		call: func(ctx context.Context, v *toolCall) *sdk.CallToolResult { return editorFailure(d.edit(ctx, v)) },
	}
}

func (d *Server) edit(ctx context.Context, v *toolCall) *sdk.CallToolResult {
	id, rest, err := splitSandboxID(v.Params.Arguments)
	if err != nil {
		return failure(err)
	}
	b, err := d.enterAny(ctx, v, id)
	if err != nil {
		return failure(err)
	}
	e, ok := b.Sandbox.(sandboxEditor)
	if !ok {
		d.leave(b)
		return failure(&fault.Error{Kind: fault.Invalid, Op: "call text_editor", Subject: string(b.kind),
			Why: "this sandbox has no text editor", Hint: "use read_file and write_file, or execute with sed"})
	}
	return d.runCall(ctx, v, b, true, func(ctx context.Context, c *call) *sdk.CallToolResult {
		content, err := e.Edit(ctx, &run.Request{ID: c.id, Actor: v.actor}, rest)
		if err != nil {
			return editorFailure(c.refuse(err))
		}
		content, places := d.opts.Secrets.Count(content)
		return result(editorOut{Success: true, Content: content, Redacted: places, Note: redact.ModelNote(places)})
	})
}

// editorFailure converts a failure to that of the editor.
func editorFailure(res *sdk.CallToolResult) *sdk.CallToolResult {
	raw, _ := res.StructuredContent.(json.RawMessage)
	var f failed
	if !res.IsError || json.Unmarshal(raw, &f) != nil {
		return res
	}
	out := result(editorOut{Error: f.Error})
	out.IsError = true
	return out
}

// splitSandboxID removes sandbox_id from arguments that the editor parses.
func splitSandboxID(raw json.RawMessage) (id string, rest []byte, err error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(raw, &args); err != nil || args == nil {
		return "", nil, &fault.Error{Kind: fault.Invalid, Op: "call text_editor", Why: "the arguments are not a JSON object",
			Hint: `they look like {"command": "view", "path": "/…"}`}
	}
	if given, ok := args["sandbox_id"]; ok {
		if err := json.Unmarshal(given, &id); err != nil {
			return "", nil, &fault.Error{Kind: fault.Invalid, Op: "call text_editor", Why: "sandbox_id should be a string",
				Hint: "sandbox_list shows yours"}
		}
	}
	delete(args, "sandbox_id")
	rest, err = json.Marshal(args)
	return id, rest, err
}

// passedTool offers one of [Options.Tools], which only read.
func (d *Server) passedTool(t tool.Tool) *toolSpec {
	takes := new(jsonschema.Schema)
	if err := json.Unmarshal(t.Schema, takes); err != nil {
		panic("tool " + t.Name + ": " + err.Error())
	}
	title, answers := titleAndSchema(t.Name)
	return &toolSpec{
		Tool: &sdk.Tool{Name: t.Name, Title: title, Description: t.Text, InputSchema: takes, OutputSchema: answers,
			Annotations: toolHints{reads: true, open: true}.annotations(title)},
		call: func(ctx context.Context, v *toolCall) *sdk.CallToolResult {
			words, err := d.callRecorded(ctx, v, t)
			if words == "" && err != nil {
				return failure(err)
			}
			words, places := d.opts.Secrets.Count(words)
			return textResult(words, places, err != nil)
		},
	}
}

// fetchResult is the result of web_fetch.
type fetchResult struct {
	OK        bool   `json:"ok"`
	URL       string `json:"url" jsonschema:"the last one, after redirects"`
	Title     string `json:"title,omitempty" jsonschema:"with the first passage"`
	Text      string `json:"text"`
	Total     int64  `json:"total_bytes" jsonschema:"of the whole text"`
	NextStart *int64 `json:"next_start" jsonschema:"null when this passage is the last"`
	Truncated bool   `json:"truncated" jsonschema:"there is more"`
}

// titleAndSchema returns the title of a tool, and the schema of its result; nil means text.
func titleAndSchema(name string) (title string, answers any) {
	switch name {
	case "web_fetch":
		return "Read a web page", answerSchema[fetchResult](name)
	case "web_search":
		return "Search the web", nil
	}
	return "", nil
}

// textResult returns the result of a tool, also as structured content if it is JSON, followed by a note about
// redactions.
func textResult(words string, places int, failed bool) *sdk.CallToolResult {
	res := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: words}}, IsError: failed}
	if strings.HasPrefix(words, "{") && json.Valid([]byte(words)) {
		res.StructuredContent = json.RawMessage(words)
	}
	if places > 0 {
		res.Content = append(res.Content, &sdk.TextContent{Text: redact.ModelNote(places)})
		res.Meta = sdk.Meta{"redacted": places}
	}
	return res
}

type policyIn struct {
	Command string `json:"command"`
	Profile string `json:"profile,omitempty" jsonschema:"virtual, host, container or outside"`
}

type policyOut struct {
	Effect   string            `json:"effect" jsonschema:"the strictest of all: allow, ask or deny"`
	Verdicts []records.Verdict `json:"verdicts"`
}

func (d *Server) policyTool() *toolSpec {
	profiles := func(s *jsonschema.Schema) {
		for _, p := range policy.Profiles() {
			s.Enum = append(s.Enum, p)
		}
	}
	return newTool[policyIn, policyOut]("policy_check", "Ask what is allowed",
		"Judges a command without running it: whether it is allowed, needs a person's approval, or is denied, and why.",
		toolHints{reads: true}, d.check).restrict("profile", profiles)
}

func (d *Server) check(ctx context.Context, _ *toolCall, in policyIn) *sdk.CallToolResult {
	if err := d.checkCommand("check", in.Command); err != nil {
		return failure(err)
	}
	if in.Profile != "" && !slices.Contains(policy.Profiles(), in.Profile) {
		return failure(&fault.Error{Kind: fault.Invalid, Op: "check", Subject: short(in.Profile),
			Why: "there is no such profile", Hint: "profiles are virtual, host, container, outside"})
	}
	verdicts, err := d.opts.Policy.Check(ctx, in.Profile, in.Command)
	if err != nil {
		return failure(err)
	}
	return result(policyOut{strictest(verdicts), append([]records.Verdict{}, verdicts...)})
}

// strictest returns the effect of a whole script.
func strictest(verdicts []records.Verdict) string {
	for _, effect := range []policy.Effect{policy.Deny, policy.Ask} {
		if slices.ContainsFunc(verdicts, func(v records.Verdict) bool { return v.Effect == effect.String() }) {
			return effect.String()
		}
	}
	return policy.Allow.String()
}
