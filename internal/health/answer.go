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

// An answer is what /healthz and /readyz say.
type answer struct {
	Status  string   `json:"status"`
	Reasons []reason `json:"reasons,omitempty"`
}

// A reason is one thing that keeps the daemon from its work.
type reason struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// How much is said about what is wrong.
const (
	mostReasons = 16
	mostReason  = 500
)

func (s *Server) handler(log *slog.Logger) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", s.probe("alive", newQuestion(questionTime, s.live), func(error) {}))
	mux.Handle("GET /readyz", s.probe("ready", newQuestion(questionTime, s.ready),
		onChange(log, "not ready", "ready again")))
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	if s.Public {
		return plain(mux)
	}
	return plain(ownNamesOnly(mux))
}

func (s *Server) live(context.Context) (struct{}, error) {
	if s.Live == nil {
		return struct{}{}, nil
	}
	return struct{}{}, s.Live()
}

func (s *Server) ready(ctx context.Context) (struct{}, error) {
	if s.Ready == nil {
		return struct{}{}, nil
	}
	return struct{}{}, s.Ready(ctx)
}

// probe answers 200 with the good word, or 503 with "not" before it and reasons.
func (s *Server) probe(good string, q *question[struct{}], tell func(error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := q.answer(r.Context())
		if r.Context().Err() != nil {
			return // the visitor left, which says nothing about us
		}
		tell(err)
		a, status := answer{Status: good}, http.StatusOK
		if err != nil {
			a, status = answer{"not " + good, s.reasons(err)}, http.StatusServiceUnavailable
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.Encode(a) // a visitor who hung up needs no answer
	})
}

// reasons takes joined errors apart.
func (s *Server) reasons(err error) []reason {
	var list []reason
	for _, one := range parts(err) {
		if len(list) == mostReasons {
			break
		}
		list = append(list, reason{fault.KindOf(one).String(), s.clean(one.Error()), s.clean(fault.Hint(one))})
	}
	return list
}

func (s *Server) clean(reason string) string { return text.Shorten(s.Secrets.Text(reason), mostReason) }

func parts(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, one := range joined.Unwrap() {
		all = append(all, parts(one)...)
	}
	return all
}

// onChange logs trouble when it comes and goes: a probe a second would fill the
// log with the same line. It takes for granted that all was well.
func onChange(log *slog.Logger, bad, good string) func(error) {
	var trouble atomic.Bool
	return func(err error) {
		switch was := trouble.Swap(err != nil); {
		case err != nil && !was:
			log.Warn(bad, "error", err)
		case err == nil && was:
			log.Info(good)
		}
	}
}

// plain keeps answers from being stored or taken for a page.
func plain(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		next.ServeHTTP(w, r)
	})
}

// ownNamesOnly stops DNS rebinding: a web page whose name suddenly means
// 127.0.0.1 would read the answers in the user's browser.
func ownNamesOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !netlisten.OwnName(netlisten.HostOf(r.Host)) {
			http.Error(w, "the name in the address is not this machine's: use 127.0.0.1", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}
