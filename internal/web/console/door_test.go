package console

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"

	"hako/gate"
	"hako/internal/app/access"
	"hako/internal/app/secretary/sessions"
	"hako/run/fault"
)

// door is the part of the HTTP API that the script uses, in the shapes of
// package server, in front of a console.
type door struct {
	*world
	*httptest.Server
	console *console
	mu      sync.Mutex
	role    access.Role
	bad     []string // requests that the real door would refuse
}

const (
	goodToken  = "right-token"
	goodCookie = "the-cookie"
	goodCSRF   = "the-proof"
)

func (d *door) session(r *http.Request) (access.Actor, string, bool) {
	c, err := r.Cookie("hako_session")
	return access.Actor{Name: "mika", Role: d.role}, goodCSRF, err == nil && c.Value == goodCookie
}

func openDoor(t testing.TB, w *world) *door {
	d := &door{world: w, role: access.Operator}
	d.console = newConsole(Options{Sources: w.sources(), Session: d.session, Profiles: []string{"strict"}})
	mux := http.NewServeMux()
	mux.Handle("/", d.console.routes())
	mux.HandleFunc("POST /login", d.login)
	mux.HandleFunc("GET /empty", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!DOCTYPE html><title>empty</title><link rel=icon href=/assets/icon.svg><main>empty</main>")
	})
	d.change(mux, "POST /logout", func(r *http.Request, _ io.Reader) (any, error) { return nil, nil })
	d.watching(mux)
	d.changing(mux)
	d.Server = httptest.NewServer(mux)
	t.Cleanup(d.Server.CloseClientConnections)
	t.Cleanup(func() { go d.Server.Close() }) // streams may still be open
	return d
}

func (d *door) login(w http.ResponseWriter, r *http.Request) {
	next := r.FormValue("next")
	if r.FormValue("token") != goodToken {
		http.Redirect(w, r, "/login?"+url.Values{"failed": {"denied"}, "next": {next}}.Encode(), http.StatusSeeOther)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "hako_session", Value: goodCookie, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func refuse(w http.ResponseWriter, status int, e *fault.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(
		map[string]any{"error": map[string]string{"kind": e.Kind.String(), "op": e.Op, "subject": e.Subject, "why": e.Why,
			"hint": e.Hint}})
}

// change is a route that needs a session and its proof.
func (d *door) change(mux *http.ServeMux, pattern string, do func(*http.Request, io.Reader) (any, error)) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		_, _, in := d.session(r)
		if !in || r.Header.Get("X-CSRF-Token") != goodCSRF {
			d.mu.Lock()
			d.bad = append(d.bad, r.Method+" "+r.URL.Path)
			d.mu.Unlock()
			refuse(w, 401, &fault.Error{Kind: fault.Denied, Op: "answer", Why: "no session or proof"})
			return
		}
		out, err := do(r, r.Body)
		var f *fault.Error
		switch {
		case err != nil:
			f, _ = err.(*fault.Error)
			refuse(w, 400, f)
		case out == nil:
			w.WriteHeader(http.StatusNoContent)
		default:
			json.NewEncoder(w).Encode(out)
		}
	})
}

// stream sends server-sent events.
func (d *door) stream(mux *http.ServeMux, pattern string, produce func(ctx context.Context, r *http.Request,
	push func(id, name string, data any))) {
	mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if _, _, in := d.session(r); !in {
			refuse(w, 401, &fault.Error{Kind: fault.Denied, Op: "watch", Why: "no session"})
			return
		}
		body, _ := io.ReadAll(r.Body) // before the answer begins
		r.Body = io.NopCloser(bytes.NewReader(body))
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, ":\n\n")
		w.(http.Flusher).Flush()
		produce(r.Context(), r, func(id, name string, data any) {
			b, _ := json.Marshal(data)
			if id != "" {
				fmt.Fprintf(w, "id: %s\n", id)
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, b)
			w.(http.Flusher).Flush()
		})
	})
}

func (d *door) watching(mux *http.ServeMux) {
	s := d.world.sources()
	d.stream(mux, "GET "+eventsRoute, func(ctx context.Context, r *http.Request, push func(string, string, any)) {
		from := r.Header.Get("Last-Event-ID")
		if from == "" {
			from = r.URL.Query().Get("after")
		}
		after, _ := strconv.ParseInt(from, 10, 64)
		events, _ := s.Live.Watch(ctx, after)
		for {
			select {
			case e := <-events:
				push(strconv.FormatInt(e.Seq, 10), "event", e)
			case <-ctx.Done():
				return
			}
		}
	})
	d.stream(mux, "GET "+approvalsRoute+"/events",
		func(ctx context.Context, _ *http.Request, push func(string, string, any)) {
			for changed := s.Approvals.Changed(ctx); ; {
				all, _ := s.Approvals.Pending(ctx)
				push("", "approvals", map[string]any{"questions": all})
				select {
				case <-changed:
				case <-ctx.Done():
					return
				}
			}
		})
	d.stream(mux, "GET "+tasksRoute+"/events", func(ctx context.Context, r *http.Request, push func(string, string, any)) {
		steps, _ := s.Tasks.Watch(ctx, r.URL.Query().Get("id"))
		for {
			select {
			case one := <-steps:
				push("", "step", one)
			case <-ctx.Done():
				return
			}
		}
	})
	d.stream(mux, "POST "+chatRoute, func(ctx context.Context, r *http.Request, push func(string, string, any)) {
		var in struct{ Session, Text string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Session == "" ||
			r.Header.Get("X-CSRF-Token") != goodCSRF {
			push("", "error", map[string]any{"error": map[string]string{"why": "no session named, or no proof"}})
			return
		}
		s.Secretary.Chat(ctx, access.Actor{}, in.Session, in.Text, func(t sessions.Turn) { push("", "turn", t) })
	})
}

func (d *door) changing(mux *http.ServeMux) {
	s, ctx, who := d.world.sources(), context.Background(), access.Actor{Name: "mika", Role: access.Operator}
	d.change(mux, "POST "+approvalsRoute+"/{id}/answer", func(r *http.Request, body io.Reader) (any, error) {
		var in struct{ Answer string }
		json.NewDecoder(body).Decode(&in)
		answer, _ := gate.ParseAnswer(in.Answer)
		return nil, s.Approvals.Answer(ctx, who, r.PathValue("id"), answer)
	})
	d.change(mux, "POST "+sessionsRoute+"/{id}/stop", func(r *http.Request, _ io.Reader) (any, error) {
		return nil, s.Secretary.Stop(ctx, who, r.PathValue("id"))
	})
	d.change(mux, "PUT "+voiceRoute, func(_ *http.Request, body io.Reader) (any, error) {
		var in struct{ On bool }
		json.NewDecoder(body).Decode(&in)
		on, err := s.Secretary.Voice(ctx, in.On)
		return map[string]bool{"on": on}, err
	})
	d.change(mux, "POST "+todosRoute, func(_ *http.Request, body io.Reader) (any, error) {
		t := sessions.Todo{Status: "open"}
		json.NewDecoder(body).Decode(&t)
		return s.Todos.Do(ctx, who, "add", t)
	})
	edit := func(action string) func(*http.Request, io.Reader) (any, error) {
		return func(r *http.Request, body io.Reader) (any, error) {
			id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
			all, _ := s.Todos.List(ctx)
			for _, t := range all {
				if t.ID == id {
					json.NewDecoder(body).Decode(&t)
					return s.Todos.Do(ctx, who, action, t)
				}
			}
			return nil, &fault.Error{Kind: fault.NotFound, Op: "find to-do", Why: "there is none"}
		}
	}
	d.change(mux, "PATCH "+todosRoute+"/{id}", edit("update"))
	d.change(mux, "DELETE "+todosRoute+"/{id}", edit("delete"))
	d.change(mux, "POST "+tasksRoute+"/{id}/{order}", func(r *http.Request, _ io.Reader) (any, error) {
		return nil, s.Tasks.Order(ctx, who, r.PathValue("id"), r.PathValue("order"))
	})
	d.change(mux, "DELETE "+boxesRoute+"/{id}", func(r *http.Request, _ io.Reader) (any, error) {
		return nil, s.Sandboxes.Destroy(ctx, who, r.PathValue("id"))
	})
}

// get reads a page as somebody who has logged in.
func (d *door) get(t testing.TB, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	r, _ := http.NewRequest("GET", d.URL+path, nil)
	r.AddCookie(&http.Cookie{Name: "hako_session", Value: goodCookie})
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	c := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b strings.Builder
	io.Copy(&b, resp.Body)
	return resp, b.String()
}
