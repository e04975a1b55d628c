package mcpclient

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/agent/tool"
	"hako/agent/tool/gated"
	"hako/internal/text"
	"hako/llm"
	"hako/run/fault"
)

const (
	maxListed = 10000    // tools of one server, before some are chosen
	maxName   = 64       // letters of a name that models take
	maxText   = 8 << 10  // bytes of a description
	maxSchema = 64 << 10 // bytes of a schema
)

// list returns all tools of a server.
func (m *serverConn) list(ctx context.Context, l *session) (list []*mcp.Tool, err error) {
	for t, err := range l.session.Tools(ctx, nil) {
		switch refusal, no := refusal(err); {
		case no && refusal.Code == jsonrpc.CodeMethodNotFound:
			m.notes.add("it has no tools")
			return nil, nil
		case err != nil && !no && ctx.Err() == nil && ended(l):
			return nil, m.unavailable(m.lossReason(l), "what it wrote is in the log")
		case err != nil:
			return nil, m.startError(ctx, l, err)
		case len(list) == maxListed:
			return nil, m.unavailable(fmt.Sprintf("it lists more than %d tools", maxListed), "go without it")
		}
		list = append(list, t)
	}
	return list, nil
}

// offer converts the chosen tools for the model.
func (m *serverConn) offer(found []*mcp.Tool) (list []gated.Tool, err error) {
	var names []string
	for _, t := range found {
		if names = append(names, t.Name); t.Name == "" {
			m.notes.add("a tool without a name is left out")
		} else if len(m.Tools) == 0 || slices.Contains(m.Tools, t.Name) {
			list = append(list, m.tool(t))
		}
	}
	for _, want := range m.Tools {
		if !slices.Contains(names, want) {
			return nil, m.unknown(want, names)
		}
	}
	return list, nil
}

func (m *serverConn) unknown(want string, names []string) error {
	e := &fault.Error{Kind: fault.NotFound, Op: "offer tool", Subject: m.Name + " " + want,
		Why: "the server has no such tool", Hint: "see tools: in mcp_servers"}
	if near, ok := fault.Nearest(want, names); ok {
		e.Hint = "did you mean " + text.Line(near, 200) + "? " + e.Hint
	}
	return e
}

func (m *serverConn) tool(t *mcp.Tool) gated.Tool {
	title := t.Title
	if t.Annotations != nil {
		title = cmp.Or(title, t.Annotations.Title)
	}
	return gated.Tool{
		Words: []string{"mcp", m.Name, spell(t.Name, "_-./")},
		Tool: tool.Tool{
			Tool: llm.Tool{
				Name:   name(m.Name, t.Name),
				Text:   cmp.Or(m.cleanText(t.Description), m.cleanText(title), spell(t.Name, "_-./")),
				Schema: m.schema(t),
			},
			Stateful: t.Annotations == nil || !t.Annotations.ReadOnlyHint,
			Call: func(ctx context.Context, arguments string) (string, error) {
				res, err := m.call(ctx, t.Name, arguments)
				if err != nil {
					return "", err
				}
				return m.result(t.Name, res)
			},
		},
	}
}

// name is the name of a tool for models, which accept only some characters and a limited length.
func name(server, tool string) string {
	full := server + "_" + spell(tool, "_-")
	if len(full) <= maxName {
		return full
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	end := "_" + hex.EncodeToString(sum[:4])
	return full[:maxName-len(end)] + end
}

// spell replaces all characters of a name but letters, digits and the others given.
func spell(name, others string) string {
	return strings.Map(func(r rune) rune {
		if letter(r) || strings.ContainsRune(others, r) {
			return r
		}
		return '_'
	}, name)
}

// anything is the schema of unknown arguments. Some services require properties, even if there are none.
const anything = `{"type":"object","properties":{}}`

// schema is the schema of a tool's arguments for the model.
func (m *serverConn) schema(t *mcp.Tool) json.RawMessage {
	given, ok := seen(t.InputSchema).(map[string]any)
	if _, typed := given["type"]; ok && !typed {
		given["type"] = "object"
	}
	if !ok || given["type"] != "object" {
		m.notes.add("the schema of " + spell(t.Name, "_-./") + " is not one of an object and is left out")
		return json.RawMessage(anything)
	}
	if given["properties"] == nil {
		given["properties"] = map[string]any{}
	}
	text, err := compact(given)
	if text = []byte(m.o.Secrets.Text(string(text))); err != nil || len(text) > maxSchema || !json.Valid(text) {
		m.notes.add("the schema of " + spell(t.Name, "_-./") + " is too large or cannot be shown, and is left out")
		return json.RawMessage(anything)
	}
	return text
}

// seen removes invisible characters from the texts of a value.
func seen(value any) any {
	switch v := value.(type) {
	case string:
		return text.Visible(v)
	case []any:
		for i := range v {
			v[i] = seen(v[i])
		}
	case map[string]any:
		clean := make(map[string]any, len(v))
		for key, member := range v {
			clean[text.Visible(key)] = seen(member)
		}
		return clean
	}
	return value
}

// compact encodes a value as JSON without escapes for HTML.
func compact(value any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimSpace(b.Bytes()), err
}
