package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A malformedError answers an invalid message.
type malformedError struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // null if unknown
	Error   jsonrpc.Error   `json:"error"`
}

// notJSON is the answer to a line that is not JSON.
func notJSON(err error) *malformedError {
	return &malformedError{Version: "2.0", Error: jsonrpc.Error{Code: jsonrpc.CodeParseError,
		Message: "parse error: a line is one message in JSON: " + err.Error()}}
}

// invalid is the answer to JSON that is not a message.
func invalid(id json.RawMessage, why string) *malformedError {
	return &malformedError{Version: "2.0", ID: echoID(id), Error: jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest,
		Message: "invalid request: " + why}}
}

func (c *malformedError) encode() []byte {
	raw, err := json.Marshal(c)
	if err != nil {
		panic("complaint: " + err.Error())
	}
	return raw
}

// maxID is the maximum length of an ID that is sent back.
const maxID = 1 << 10

// echoID returns an ID as it was sent, if its type is valid.
func echoID(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || len(raw) > maxID || strings.ContainsRune("{[tf", rune(raw[0])) {
		return nil
	}
	return raw
}

// survivesSDK reports whether the SDK sends an ID back unchanged: it truncates numbers to whole ones and to the
// precision of a float64.
func survivesSDK(raw json.RawMessage) bool {
	if len(raw) > 0 && raw[0] == '"' {
		return !strings.ContainsRune(idValue(raw), utf8.RuneError) // half a surrogate pair would change
	}
	n, err := strconv.ParseFloat(string(raw), 64)
	return err == nil && n == math.Trunc(n) && math.Abs(n) < 1<<53
}

// idValue normalizes an ID, such as 1, 1.0 and 1e0.
func idValue(raw json.RawMessage) string {
	var id any
	if json.Unmarshal(raw, &id) != nil {
		return string(raw)
	}
	return fmt.Sprintf("%T %v", id, id)
}

// judge reports whether to pass on a line. A line without an error that is not passed on is dropped.
func (s *stdin) judge(line []byte) (pass bool, _ *malformedError) {
	if line[0] == '[' {
		return s.judgeBatch(line)
	}
	m, complaint := readMessage(line)
	if complaint != nil {
		return false, complaint
	}
	if m.is("initialize") {
		s.batches = m.wantsBatches()
	}
	return m.judge()
}

// judgeBatch judges a batch: all messages are passed on, or none.
func (s *stdin) judgeBatch(line []byte) (pass bool, _ *malformedError) {
	var all []json.RawMessage
	if err := json.Unmarshal(line, &all); err != nil {
		return false, notJSON(err)
	}
	if !s.batches || len(all) == 0 {
		return false, invalid(nil, "send each message on a line of its own")
	}
	seen := map[string]bool{}
	for i, raw := range all {
		m, complaint := readMessage(raw)
		if complaint == nil {
			pass, complaint = m.judge()
		}
		switch {
		case complaint != nil:
			return false, invalid(nil, fmt.Sprintf("message %d of %d: %s", i+1, len(all), complaint.Error.Message))
		case !pass || m["id"] == nil: // the SDK would wait for its answer
			return false, invalid(nil, fmt.Sprintf("message %d of %d is no request: send it on a line of its own", i+1,
				len(all)))
		case seen[idValue(m["id"])]:
			return false, invalid(nil, fmt.Sprintf("message %d of %d has the id of one before", i+1, len(all)))
		}
		seen[idValue(m["id"])] = true
	}
	return true, nil
}

// A message is a JSON-RPC message.
type message map[string]json.RawMessage

func readMessage(raw []byte) (m message, _ *malformedError) {
	err := json.Unmarshal(raw, &m)
	var mistake *json.SyntaxError
	switch {
	case errors.As(err, &mistake):
		return nil, notJSON(err)
	case err != nil || m == nil:
		return nil, invalid(nil, "a message is an object")
	}
	return m, nil
}

// judge reports whether to pass on a message. A response never gets an error, which could cause a loop.
func (m message) judge() (pass bool, _ *malformedError) {
	id, sent := m["id"]
	sound := string(m["jsonrpc"]) == `"2.0"` && survivesSDK(id)
	var method string
	switch {
	case m["method"] == nil && (m["result"] != nil || m["error"] != nil):
		return sound, nil
	case string(m["jsonrpc"]) != `"2.0"`:
		return false, invalid(id, `jsonrpc is not "2.0"`)
	case json.Unmarshal(m["method"], &method) != nil || string(m["method"]) == "null":
		return false, invalid(id, "method is not a text")
	case sent && !sound && (string(id) != "null" ||
		!strings.HasPrefix(method, "notifications/")): // some clients send null
		return false, invalid(id, "id is neither a text nor a whole number below 2^53")
	}
	return true, nil
}

func (m message) is(method string) bool { return string(m["method"]) == strconv.Quote(method) }

// wantsBatches reports whether the protocol version of a client has batches.
func (m message) wantsBatches() bool {
	var params struct {
		Version string `json:"protocolVersion"`
	}
	return json.Unmarshal(m["params"], &params) == nil && slices.Contains([]string{"2024-11-05", "2025-03-26"},
		params.Version)
}

// Read skips messages that the SDK cannot decode.
func (c keepAliveReader) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		m, err := c.Connection.Read(ctx)
		if err == nil || ctx.Err() != nil || errors.Is(err, io.EOF) || c.in.over.Load() {
			return m, err
		}
		c.in.answerError(invalid(nil, "a field is of the wrong type, it is nested too deeply, or a batch has an id twice"))
	}
}

// rejectLossyIDs rejects HTTP requests whose ID the SDK would change.
func rejectLossyIDs(library http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			library.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(io.LimitReader(r.Body, sdk.DefaultMaxRequestBodyBytes))
		if m, bad := readMessage(body); err == nil && bad == nil && m["method"] != nil && lossyNumber(m["id"]) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(invalid(m["id"], "id is neither a text nor a whole number below 2^53").encode())
			return
		}
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), errorReader{err}, r.Body))
		library.ServeHTTP(w, r)
	})
}

// lossyNumber reports whether an ID is a number that the SDK would change.
func lossyNumber(id json.RawMessage) bool {
	return len(id) > 0 && strings.ContainsRune("-0123456789", rune(id[0])) && !survivesSDK(id)
}
