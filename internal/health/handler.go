package health

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync/atomic"

	"hako/internal/netlisten"
	"hako/internal/text"
	"hako/run/fault"
)

// A status is the response of /healthz and /readyz.
type status struct {
	Status  string   `json:"status"`
	Reasons []reason `json:"reasons,omitempty"`
}

// A reason is one thing that keeps the daemon from its work.
type reason struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

const (
	maxReasons = 16
	maxReason  = 500 // characters
)

func (s *Server) handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { writeStatus(w, status{Status: "alive"}) })
	mux.Handle("GET /readyz", s.readiness(log))
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	if s.Public {
		return withHeaders(mux)
	}
	return withHeaders(ownNamesOnly(mux))
}

func (s *Server) readiness(log *slog.Logger) http.Handler {
	call := newBoundedCall(func(ctx context.Context) (map[string]int, error) {
		if s.Ready == nil {
			return nil, nil
		}
		return nil, s.Ready(ctx)
	})
	changed := logChanges(log, "not ready", "ready again")
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := call.do(r.Context())
		if r.Context().Err() != nil {
			return // the client left, which means nothing for us
		}
		if changed(err); err != nil {
			writeStatus(w, status{"not ready", s.reasons(err)})
			return
		}
		writeStatus(w, status{Status: "ready"})
	})
}

func writeStatus(w http.ResponseWriter, s status) {
	w.Header().Set("Content-Type", "application/json")
	if s.Reasons != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.Encode(s) // fails only for a client that left
}

func (s *Server) reasons(err error) (list []reason) {
	clean := func(t string) string { return text.Shorten(s.Secrets.Text(t), maxReason) }
	all := joined(err)
	for _, one := range all[:min(len(all), maxReasons)] {
		list = append(list, reason{fault.KindOf(one).String(), clean(one.Error()), clean(fault.Hint(one))})
	}
	return list
}

// joined returns the errors that [errors.Join] joined.
func joined(err error) (all []error) {
	j, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, one := range j.Unwrap() {
		all = append(all, joined(one)...)
	}
	return all
}

// logChanges logs only when an error appears or disappears: a probe each second would
// fill the log with the same line.
func logChanges(log *slog.Logger, bad, good string) func(error) {
	var failing atomic.Bool
	return func(err error) {
		switch was := failing.Swap(err != nil); {
		case err != nil && !was:
			log.Warn(bad, "error", err)
		case err == nil && was:
			log.Info(good)
		}
	}
}

// withHeaders keeps responses from being stored or taken for a web page.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// ownNamesOnly stops DNS rebinding: a web page whose host name suddenly resolves to
// 127.0.0.1 would read the responses in the user's browser.
func ownNamesOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !netlisten.OwnName(netlisten.HostOf(r.Host)) {
			http.Error(w, "the name in the address is not this machine's: use 127.0.0.1", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
