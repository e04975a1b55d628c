package wire

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"hako/llm"
	"hako/run/fault"
)

// The environment names a proxy before anybody looks; it is not asked about
// this machine.
func TestMain(m *testing.M) {
	os.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	goleak.VerifyTestMain(m)
}

const secret = "hk-0123456789"

func peer() *Service {
	return &Service{Op: "ask model", Subject: "m", Who: "them", Down: "start it", Key: secret, KeyFrom: "K",
		Client: NewClient(nil)}
}

// post asks a peer and reads the whole answer.
func post(t *testing.T, p *Service, url string) (string, error) {
	t.Helper()
	to, err := p.Resolve(url, "/x")
	if err != nil {
		return "", err
	}
	a, err := p.Post(t.Context(), to, "text/event-stream", []byte("{}"))
	if err != nil {
		return "", err
	}
	defer a.Close()
	data, err := io.ReadAll(a)
	return string(data), err
}

func serve(t *testing.T, h http.HandlerFunc) string {
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL
}

func TestUnreached(t *testing.T) {
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	t.Cleanup(tls.Close)
	reset := serve(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	unknown := &http.Client{Transport: failing{&net.OpError{Op: "dial",
		Err: &net.DNSError{Name: "no.such.host", IsNotFound: true}}}}
	tests := []struct {
		name, url  string
		client     *http.Client
		want, hint string
		retry      bool
	}{
		{"refused", "http://127.0.0.1:1", nil, "ask model m: cannot connect to http://127.0.0.1:1/x", "start it", false},
		{"proxy", "https://api.example.invalid", nil, "ask model m: cannot connect to the proxy",
			"check HTTPS_PROXY and HTTP_PROXY", false},
		{"name", "http://no.such.host", unknown, "ask model m: cannot resolve no.such.host",
			"check the name and the network", false},
		{"certificate", tls.URL, nil, "ask model m: the certificate of " + tls.URL + "/x is not valid",
			"check the address, the clock, and the proxy if there is one", false},
		{"reset", reset, nil, "ask model m: the connection to " + reset + "/x was lost before a response came: connection_lost",
			"try again", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := peer()
			if tt.client != nil {
				p.Client = NewClient(tt.client)
			}
			_, err := post(t, p, tt.url)
			if err == nil || err.Error() != tt.want || fault.Hint(err) != tt.hint || fault.KindOf(err) != fault.Unavailable {
				t.Errorf("%v (%s)", err, fault.Hint(err))
			}
			var r *llm.Refusal
			if errors.As(err, &r) != tt.retry || r != nil && !r.Retry {
				t.Errorf("refusal %+v", r)
			}
		})
	}
}

// failing is a transport that reaches nobody.
type failing struct{ err error }

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, f.err }

func packed(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	z.Close()
	return b.Bytes()
}

func TestPackedAnswers(t *testing.T) {
	status, body := 200, packed("data: x\n\n")
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("asked for %q", r.Header.Get("Accept-Encoding"))
		}
		w.Header().Set("Content-Encoding", "gzip")
		w.WriteHeader(status)
		w.Write(body)
	})
	if got, err := post(t, peer(), url); got != "data: x\n\n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	status, body = 500, packed(`{"error":{"message":"oops","code":"server_error"}}`)
	if _, err := post(t, peer(), url); err == nil ||
		err.Error() != "ask model m: them failed (500): server_error: oops" {
		t.Errorf("%v", err)
	}
	status, body = 200, []byte("not packed at all")
	if _, err := post(t, peer(), url); err == nil || !strings.Contains(err.Error(), "the response was truncated") {
		t.Errorf("%v", err)
	}
	// An error of which only the beginning is read.
	status, body = 500, packed(strings.Repeat("<p>"+secret, maxErrorBody))
	if _, err := post(t, peer(), url); err == nil ||
		err.Error() != "ask model m: them failed (500): internal_server_error" {
		t.Errorf("%v", err)
	}
}

// endless is an answer that goes on and on.
type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestEndlessAnswer(t *testing.T) {
	a := peer().newBody(t.Context())
	defer a.Close()
	a.plain = endless{}
	if n, err := io.CopyBuffer(io.Discard, struct{ io.Reader }{a}, make([]byte, 1<<20)); fault.KindOf(
		err) != fault.TooLarge || n != maxBody {
		t.Errorf("%d bytes, %v", n, err)
	}
}

func TestGet(t *testing.T) {
	says := `{"a":1}`
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, says) })
	p := peer()
	to, _ := p.Resolve(url, "")
	var v struct{ A int }
	if err := p.Get(t.Context(), to, &v); err != nil || v.A != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	says = "<html>" + secret
	if err := p.Get(t.Context(), to, &v); err == nil ||
		err.Error() != "ask model m: them answered with something that cannot be read" {
		t.Errorf("%v", err)
	}
}

// The time that the reader takes for itself is not the server's silence.
func TestSlowReaderIsNotSilence(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, strings.Repeat("x", 100)) })
	p := peer()
	p.Idle = 100 * time.Millisecond
	to, _ := p.Resolve(url, "")
	a, err := p.Post(t.Context(), to, "*/*", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for range 3 {
		time.Sleep(150 * time.Millisecond)
		if _, err := io.ReadFull(a, make([]byte, 30)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSilenceInAnError(t *testing.T) {
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.WriteHeader(500)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	p := peer()
	p.Idle = 50 * time.Millisecond
	if _, err := post(t, p, url); fault.KindOf(err) != fault.Timeout {
		t.Errorf("%v", err)
	}
	to, _ := p.Resolve(url, "")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.Post(ctx, to, "*/*", nil); err != context.DeadlineExceeded {
		t.Errorf("%v", err)
	}
}

func TestExplainAnswers(t *testing.T) {
	p := peer()
	a := p.newBody(t.Context())
	defer a.Close()
	mine := &fault.Error{Op: "x"}
	for err, want := range map[error]string{
		io.EOF:  "ask model m: the response was truncated: the stream ended before it was complete",
		errLong: "ask model m: the response has a line of more than 8 MB",
		mine:    "x",
	} {
		if got := a.WrapError(err); got.Error() != want {
			t.Errorf("%v: %v", err, got)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := p.newBody(ctx)
	defer b.Close()
	if err := b.WrapError(io.EOF); err != context.Canceled || b.Alive() || !a.Alive() {
		t.Errorf("%v", err)
	}
}
