// Package wiretest replays what services answer, byte for byte, to the client of a provider: over a real connection,
// once in a piece and once in crumbs, so that characters and lines arrive torn.
//
// An archive holds any number of cases, each a few files in a folder:
//
//	name/dialog   the dialog as JSON; without it, somebody says hi
//	name/request  the body that must be sent, exactly; without it, any
//	name/answer   a status with a type, headers, an empty line and the body
//	name/want     the outcome, see [describe]
//
// The last line of an answer may be (cut) for a body that ends right before it, or (abort) for a connection that breaks
// there. Long lines may be broken with a backslash. $HOST is the address of the server. The rule to keep: what
// a service was once seen to send gets a case here before the client is changed for it.
package wiretest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"hako/llm"
	"hako/run/fault"
)

// Key is what the models of a replay are to use as their key.
const Key = "hk-0123456789abcdef"

// Replay runs the cases of an archive with models that make returns: the name is that of the case up to a plus sign,
// the URL that of the server.
func Replay(t *testing.T, archive string, make func(model, url string) llm.Model) {
	t.Helper()
	a, err := txtar.ParseFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	cases := collect(a)
	if len(cases) == 0 {
		t.Fatalf("%s has no cases", archive)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.run(t, make, 1<<20)
			c.run(t, make, 2)
		})
	}
}

// A replay is one case.
type replay struct{ name, dialog, request, answer, want string }

func collect(a *txtar.Archive) (cases []*replay) {
	for _, f := range a.Files {
		name, part, _ := strings.Cut(f.Name, "/")
		if len(cases) == 0 || cases[len(cases)-1].name != name {
			cases = append(cases, &replay{name: name, dialog: `{"Items":[{"role":"user","text":"hi"}]}`})
		}
		c := cases[len(cases)-1]
		into := map[string]*string{"dialog": &c.dialog, "request": &c.request, "answer": &c.answer, "want": &c.want}[part]
		*into = strings.ReplaceAll(string(f.Data), "\\\n", "")
	}
	return cases
}

// run replays a case in pieces of so many bytes.
func (c *replay) run(t *testing.T, make func(model, url string) llm.Model, piece int) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		serve(w, strings.ReplaceAll(c.answer, "$HOST", r.Host), piece)
	}))
	defer server.Close()
	var d llm.Dialog
	if err := json.Unmarshal([]byte(c.dialog), &d); err != nil {
		t.Fatalf("the dialog: %v", err)
	}
	var streamed []string
	d.OnText = func(piece string) { streamed = append(streamed, piece) }
	model, _, _ := strings.Cut(c.name, "+")
	turn, err := make(model, server.URL).Next(t.Context(), &d)
	got := describe(turn, err, streamed)
	if want := strings.ReplaceAll(c.want, "$HOST", strings.TrimPrefix(server.URL, "http://")); got != want {
		t.Errorf("in pieces of %d, got\n%swant\n%s", piece, got, want)
	}
	if len(asked) != 1 || c.request != "" && asked[0] != strings.TrimSuffix(c.request, "\n") {
		t.Errorf("asked %d times:\n%s\nwant\n%s", len(asked), strings.Join(asked, "\n"), c.request)
	}
}

// serve answers as a file of an archive says, in pieces of so many bytes.
func serve(w http.ResponseWriter, answer string, piece int) {
	head, body, _ := strings.Cut(answer, "\n\n")
	body, abort := strings.CutSuffix(body, "\n(abort)\n")
	body = strings.TrimSuffix(body, "\n(cut)\n")
	lines := strings.Split(head, "\n")
	for _, header := range lines[1:] {
		name, value, _ := strings.Cut(header, ": ")
		w.Header().Set(name, value)
	}
	var status int
	var kind string
	fmt.Sscan(lines[0], &status, &kind)
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	for rest := []byte(body); len(rest) > 0; {
		n := min(piece, len(rest))
		w.Write(rest[:n])
		w.(http.Flusher).Flush()
		rest = rest[n:]
	}
	if abort {
		panic(http.ErrAbortHandler)
	}
}

// describe prints the outcome of a request: the error with its kind and hint, or the turn. Lines that would be
// empty are left out.
func describe(turn *llm.Turn, err error, streamed []string) string {
	var b bytes.Buffer
	line := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "[]" {
			fmt.Fprintf(&b, "%s: %s\n", name, text)
		}
	}
	if err != nil {
		line("error", err)
		line("kind", fault.KindOf(err))
		line("hint", fault.Hint(err))
		var r *llm.Refusal
		if errors.As(err, &r) && r.Retry {
			line("retry", "after "+r.After.String())
		}
		return b.String()
	}
	line("text", turn.Text)
	if joined := strings.Join(streamed, ""); joined != turn.Text {
		line("streamed", fmt.Sprintf("%q", streamed))
	}
	for _, c := range turn.Calls {
		line("call", c.ID+" "+c.Name+" "+c.Arguments)
	}
	line("usage", fmt.Sprintf("%d input, %d cached, %d output", turn.Usage.Input, turn.Usage.Cached, turn.Usage.Output))
	line("model", turn.Model)
	line("cut", turn.Cut)
	line(turn.Source, string(turn.Raw))
	return b.String()
}
