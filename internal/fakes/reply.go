package fakes

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"
)

// A reply is a response: a body, or a stream of frames.
type reply struct {
	status  int // zero means 200
	mime    string
	header  map[string]string
	body    []byte
	frames  [][]byte
	end     int // the first frame that marks the answer as complete
	middle  int // a frame in the middle of a call's arguments
	ending  ending
	torn    bool
	wait    time.Duration // before the first byte
	between time.Duration // before each further frame
}

// An ending is how a connection ends.
type ending int

const (
	clean ending = iota
	short        // before the announced length is reached
	reset        // with a TCP reset
)

// A refusal is an error of a service in no particular format.
type refusal struct {
	status                     int
	code, kind, message, param string
}

// failure is the error of the step.
func (x *exchange) failure() *refusal {
	f := x.step.Error
	if f == nil {
		f = &Failure{}
	}
	status := cmp.Or(x.step.Status, http.StatusInternalServerError)
	return &refusal{status: status, code: f.Code, kind: f.Type, message: cmp.Or(f.Message, http.StatusText(status)),
		param: f.Param}
}

// decorate applies what the step says about the response.
func (x *exchange) decorate(r *reply) *reply {
	step := x.step
	if step.Status != 0 {
		r.status = step.Status
	}
	if step.Fault == "html502" {
		r = &reply{status: http.StatusBadGateway, mime: "text/html", body: []byte(
			"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n")}
	}
	if r.header == nil {
		r.header = map[string]string{}
	}
	maps.Copy(r.header, step.Headers)
	r.torn = step.Torn
	r.wait, r.between = time.Duration(step.DelayMS)*time.Millisecond, time.Duration(step.PieceDelayMS)*time.Millisecond
	r.breakOff(step.Fault)
	if step.Variant == "crlf" {
		for i, f := range r.frames {
			r.frames[i] = bytes.ReplaceAll(f, []byte("\n"), []byte("\r\n"))
		}
	}
	return r
}

// breakOff applies a fault of the connection.
func (r *reply) breakOff(fault string) {
	keep, how := r.end, clean
	switch fault {
	case "cut":
	case "abort":
		how = reset
	case "cut_in_arguments":
		keep = r.middle
	case "no_trailing_blank":
		if n := len(r.frames); n > 0 {
			r.frames[n-1] = bytes.TrimSuffix(r.frames[n-1], []byte("\n"))
		}
		return
	default:
		return
	}
	if r.frames == nil {
		r.ending = max(short, how)
		return
	}
	r.frames, r.ending = r.frames[:keep], how
}

// send writes a reply. It aborts when the client leaves or the server is closed: the
// client must not take that for the end of the reply.
func (r *reply) send(w http.ResponseWriter, req *http.Request) {
	if !pause(req.Context(), r.wait) {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Content-Type", cmp.Or(r.mime, "application/json"))
	for name, v := range r.header {
		w.Header().Set(name, v)
	}
	status := cmp.Or(r.status, http.StatusOK)
	if r.frames == nil {
		r.sendBody(w, req, status)
		return
	}
	w.WriteHeader(status)
	flush(w)
	for i, frame := range r.frames {
		if i > 0 && !pause(req.Context(), r.between) {
			panic(http.ErrAbortHandler)
		}
		r.write(w, frame)
	}
	if r.ending == reset {
		hangUp(w, true)
	}
}

// sendBody writes a body, compressed if the client accepts it.
func (r *reply) sendBody(w http.ResponseWriter, req *http.Request, status int) {
	body := r.body
	if strings.Contains(req.Header.Get("Accept-Encoding"), "gzip") && len(body) > 0 {
		w.Header().Set("Content-Encoding", "gzip")
		body = gzipped(body)
	}
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.WriteHeader(status)
	if r.ending == clean {
		r.write(w, body)
		return
	}
	r.write(w, body[:len(body)/2])
	hangUp(w, r.ending == reset)
}

// tornSize is how many bytes of a torn reply arrive at once: fewer than an event has,
// and in the middle of characters.
const tornSize = 7

func (r *reply) write(w http.ResponseWriter, b []byte) {
	size := len(b)
	if r.torn {
		size = tornSize
	}
	for len(b) > 0 {
		n := min(size, len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return
		}
		flush(w)
		b = b[n:]
	}
}

func flush(w http.ResponseWriter) { http.NewResponseController(w).Flush() }

// hangUp closes the connection.
func hangUp(w http.ResponseWriter, hard bool) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && hard {
		tcp.SetLinger(0)
	}
	conn.Close()
}

// pause waits and reports whether the client is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d == 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func gzipped(b []byte) []byte {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	z.Write(b)
	z.Close()
	return out.Bytes()
}

// object encodes a JSON object with its members in the order given: name, value, name,
// value.
func object(kv ...any) json.RawMessage {
	var b bytes.Buffer
	for i := 0; i < len(kv); i += 2 {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(mustMarshal(kv[i]))
		b.WriteByte(':')
		b.Write(mustMarshal(kv[i+1]))
	}
	if len(kv) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes()
}

func mustMarshal(v any) []byte {
	text, err := marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// array encodes a JSON array that is never null.
func array[T any](all []T) json.RawMessage {
	if len(all) == 0 {
		return json.RawMessage("[]")
	}
	return mustMarshal(all)
}
