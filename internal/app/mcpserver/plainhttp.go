package mcpserver

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/netlisten"
)

// maxFastPath is the maximum size of a request that is answered here.
const maxFastPath = 64 << 10

// fastPath answers the most common requests of the current protocol: a tool call without progress. The SDK reads such
// a request a dozen times, with a new 32 KB buffer each, and collecting those takes longer than the call itself.
// Every request that is not exactly as expected goes to the SDK, which reports mistakes.
func (d *Server) fastPath(library http.Handler) http.Handler {
	offers := map[string]*toolSpec{}
	for _, o := range d.tools {
		offers[o.Name] = o
	}
	about := d.about()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		o := offers[r.Header.Get("Mcp-Name")]
		if o == nil || !isFastPath(r) {
			library.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		id, req := parseFastPath(body, o.Name)
		if err != nil || req == nil {
			r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), errorReader{err}))
			library.ServeHTTP(w, r)
			return
		}
		req.Extra = &sdk.RequestExtra{TokenInfo: auth.TokenInfoFromContext(r.Context()), Header: r.Header}
		res, _ := d.serve(r.Context(), req, webCaller, o) // it fails only with a requestState
		writeEvent(w, httpAnswer{"2.0", id, httpResult{about, res.Content, res.StructuredContent, res.IsError,
			res.InputRequests, res.RequestState, resultType(res)}})
	})
}

// about is the metadata of every result.
func (d *Server) about() json.RawMessage {
	raw, err := json.Marshal(map[string]any{sdk.MetaKeyServerInfo: d.implementation()})
	if err != nil {
		panic("server: " + err.Error())
	}
	return raw
}

// isFastPath checks the headers of a request. The SDK handles foreign hosts.
func isFastPath(r *http.Request) bool {
	h, accepts := r.Header, r.Header.Get("Accept")
	return r.Method == http.MethodPost && r.ContentLength > 0 && r.ContentLength <= maxFastPath &&
		netlisten.OwnName(netlisten.HostOf(r.Host)) &&
		h.Get("Mcp-Protocol-Version") == stateless && h.Get("Mcp-Method") == "tools/call" &&
		h.Get("Content-Type") == "application/json" &&
		strings.Contains(accepts, "application/json") && strings.Contains(accepts, "text/event-stream") &&
		h.Get("Last-Event-Id") == "" && h.Get("Mcp-Session-Id") == ""
}

// parseFastPath parses a call of the tool that the headers name, or returns nil. Names are case-sensitive, as in the
// SDK.
func parseFastPath(body []byte, name string) (id json.RawMessage, _ *sdk.CallToolRequest) {
	message, ok := fields(body, "jsonrpc", "id", "method", "params")
	if !ok || len(message) != 4 || string(message["jsonrpc"]) != `"2.0"` || string(message["method"]) != `"tools/call"` ||
		!simpleID(message["id"]) {
		return nil, nil
	}
	params, ok := fields(message["params"], "name", "arguments", "_meta")
	if !ok || string(params["name"]) != strconv.Quote(name) {
		return nil, nil
	}
	p := &sdk.CallToolParamsRaw{Name: name, Arguments: params["arguments"]}
	if json.Unmarshal(params["_meta"], &p.Meta) != nil {
		return nil, nil
	}
	req := &sdk.CallToolRequest{Params: p}
	if !simpleMeta(req) {
		return nil, nil
	}
	return message["id"], req
}

// fields parses an object that has no other fields than names.
func fields(raw []byte, names ...string) (object map[string]json.RawMessage, ok bool) {
	if json.Unmarshal(raw, &object) != nil || object == nil {
		return nil, false
	}
	known := 0
	for _, name := range names {
		if _, there := object[name]; there {
			known++
		}
	}
	return object, known == len(object)
}

// simpleID reports whether an ID is a string or a whole number, which is sent back unchanged.
func simpleID(raw json.RawMessage) bool {
	if len(raw) > 0 && raw[0] == '"' {
		return true
	}
	_, err := strconv.ParseUint(string(raw), 10, 53)
	return err == nil
}

// simpleMeta reports whether the metadata of a request is valid and needs no special handling.
func simpleMeta(req *sdk.CallToolRequest) bool {
	meta := req.Params.Meta
	if meta[sdk.MetaKeyProtocolVersion] != stateless || meta["progressToken"] != nil {
		return false
	}
	if _, told := meta[sdk.MetaKeyClientInfo]; told && req.ClientInfo() == nil {
		return false
	}
	can, _ := meta[sdk.MetaKeyClientCapabilities].(map[string]any)
	return can != nil && (len(can) == 0 || req.ClientCapabilities() != nil)
}

// httpAnswer is the JSON-RPC response.
type httpAnswer struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  httpResult      `json:"result"`
}

type httpResult struct {
	Meta       json.RawMessage     `json:"_meta"`
	Content    []sdk.Content       `json:"content"`
	Structured any                 `json:"structuredContent,omitempty"`
	IsError    bool                `json:"isError,omitempty"`
	Wanted     sdk.InputRequestMap `json:"inputRequests,omitempty"`
	State      string              `json:"requestState,omitempty"`
	Type       string              `json:"resultType"`
}

func resultType(res *sdk.CallToolResult) string {
	if res.InputRequests != nil {
		return "input_required"
	}
	return "complete"
}

// writeEvent sends a response as one event of a stream, as the SDK does.
func writeEvent(w http.ResponseWriter, a httpAnswer) {
	var b bytes.Buffer
	b.WriteString("event: message\ndata: ")
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(a); err != nil {
		panic("answer: " + err.Error())
	}
	b.WriteByte('\n')
	h := w.Header()
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("Content-Type", "text/event-stream")
	h.Set("Connection", "keep-alive")
	_, _ = w.Write(b.Bytes())
}

// errorReader is the end of a body that failed.
type errorReader struct{ err error }

func (f errorReader) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
