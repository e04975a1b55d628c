package fakes

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// A Server serves a scenario on a port of the loopback interface.
type Server struct {
	url  string
	sc   *Scenario
	http *http.Server
	stop context.CancelFunc

	mu         sync.Mutex
	used       []bool // by step
	requests   []Request
	violations []string
	dialogs    map[string]*dialog // by service and name
	responses  map[string][]entry // the calls of each stored response, by its ID
	said       []string           // texts of speech requests
	sounds     int                // number of speech requests
}

// A Request is one that arrived.
type Request struct {
	On     string // the service; empty if there is none at that path
	Step   int    // that answered it, from 1; zero means none
	Method string
	URL    string
	Header http.Header
	Body   []byte
}

// Start serves a scenario until [Server.Close].
func Start(sc *Scenario) *Server {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{url: "http://" + listener.Addr().String(), stop: stop, dialogs: map[string]*dialog{},
		responses: map[string][]entry{}}
	s.sc = sc.expanded(s.url)
	s.used = make([]bool, len(s.sc.Steps))
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve),
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go s.http.Serve(listener)
	return s
}

// URL returns the URL of the server, without a slash at the end.
func (s *Server) URL() string { return s.url }

// Requests returns the requests so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Close ends the server and its responses.
func (s *Server) Close() {
	s.stop()
	s.http.Close()
}

// Finish returns all violations: of requests, and steps that were never requested.
func (s *Server) Finish() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.violations)
	for i, used := range s.used {
		if !used {
			all = append(all, fmt.Sprintf("step %d (%s) was never asked for", i+1, s.sc.Steps[i].On))
		}
	}
	return append(all, s.checkSpoken()...)
}

// closedPort is a URL that nothing listens on.
const closedPort = "http://127.0.0.1:1"

// Names are the environment variables that [Server.Env] may set. The others should be
// unset, or the real services would be used.
func Names() []string {
	return []string{"FAKE_URL", "OPENAI_BASE_URL", "OPENAI_API_KEY", "HAKO_OPENAI_API", "OLLAMA_HOST", "HAKO_GOOGLE_URL",
		"GOOGLE_API_KEY",
		"GOOGLE_CSE_CX", "HAKO_BRAVE_URL", "BRAVE_API_KEY", "SEARXNG_URL", "HAKO_SPEECH_URL"}
}

// Env returns the environment that leads a program to this server, for the services in
// the scenario.
func (s *Server) Env() []string {
	env := []string{"FAKE_URL=" + s.url}
	if s.plays("responses chat models") {
		env = append(env, "OPENAI_BASE_URL="+s.url+"/v1", "OPENAI_API_KEY="+cmp.Or(s.sc.Key, "sk-any-0123456789abcdef"))
	}
	if s.plays(onResponses) {
		env = append(env, "HAKO_OPENAI_API=responses") // as at OpenAI's own address
	}
	if s.plays("ollama tags show ps version") {
		env = append(env, "OLLAMA_HOST="+s.url)
	} else {
		env = append(env, "OLLAMA_HOST="+closedPort)
	}
	if s.plays(onGoogle) {
		env = append(env, "HAKO_GOOGLE_URL="+s.url+googlePath, "GOOGLE_API_KEY="+s.sc.googleKey(),
			"GOOGLE_CSE_CX="+s.sc.googleCX())
	}
	if s.plays(onBrave) {
		env = append(env, "HAKO_BRAVE_URL="+s.url+bravePath, "BRAVE_API_KEY="+s.sc.braveKey())
	}
	if s.plays(onSearxng) {
		env = append(env, "SEARXNG_URL="+s.url)
	}
	if s.sc.speaks() {
		env = append(env, "HAKO_SPEECH_URL="+s.url)
	} else {
		env = append(env, "HAKO_SPEECH_URL="+closedPort)
	}
	return env
}

// plays reports whether a step is about one of the services.
func (s *Server) plays(services string) bool {
	return slices.ContainsFunc(s.sc.Steps, func(step Step) bool { return hasWord(services, step.On) })
}

func (sc *Scenario) googleKey() string { return cmp.Or(sc.GoogleKey, "google-key-0123456789abcdef") }
func (sc *Scenario) googleCX() string  { return cmp.Or(sc.GoogleCX, "cx-0123456789") }
func (sc *Scenario) braveKey() string  { return cmp.Or(sc.BraveKey, "brave-key-0123456789abcdef") }

// A service is one endpoint.
type service struct {
	on, method, path string
	check            func(*exchange) *refusal // finds what the service itself would refuse
	answer           func(*exchange) *reply
	refuse           func(*exchange, *refusal) *reply // formats an error
}

// services lists the endpoints.
func services() []service {
	return []service{
		{onResponses, "POST", "/v1/responses", checkResponses, answerResponses, refuseOpenAI},
		{onChat, "POST", "/v1/chat/completions", checkChat, answerChat, refuseOpenAI},
		{onModels, "GET", "/v1/models", checkKey, answerModels, refuseOpenAI},
		{onOllama, "POST", "/api/chat", checkOllama, answerOllama, refuseOllama},
		{onTags, "GET", "/api/tags", nil, answerTags, refuseOllama},
		{onShow, "POST", "/api/show", checkShow, answerShow, refuseOllama},
		{onPs, "GET", "/api/ps", nil, answerPs, refuseOllama},
		{onVersion, "GET", "/api/version", nil, answerVersion, refuseOllama},
		{onGoogle, "GET", googlePath, checkGoogle, answerGoogle, refuseGoogle},
		{onBrave, "GET", bravePath, checkBrave, answerBrave, refuseBrave},
		{onSearxng, "GET", "/search", checkSearxng, answerSearxng, refuseSearxng},
		{onPage, "GET", "/pages/", nil, answerPage, refusePage},
	}
}

// find returns the service of a path.
func find(path string) (service, bool) {
	all := services()
	i := slices.IndexFunc(all, func(v service) bool {
		return path == v.path || strings.HasSuffix(v.path, "/") && strings.HasPrefix(path, v.path)
	})
	if i < 0 {
		return service{}, false
	}
	return all[i], true
}

// An exchange is one request on its way to its response.
type exchange struct {
	*Server
	service
	r      *http.Request
	number int // of the request, from 1
	body   []byte
	query  url.Values
	fields map[string]any // of a JSON body, once it was parsed
	all    []entry        // its conversation
	step   *Step          // nil if it has none
	index  int            // of the step, from zero
	dialog *dialog
}

const maxBody = 64 << 20

// serve receives a request and sends the response.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead) {
		io.WriteString(w, "Ollama is running")
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		return // the client left
	}
	s.receive(r, body).send(w, r)
}

// receive finds the response to a request. Requests are handled one by one.
func (s *Server) receive(r *http.Request, body []byte) *reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Method: r.Method, URL: r.URL.String(), Header: r.Header.Clone(), Body: body})
	x := &exchange{Server: s, r: r, body: body, query: r.URL.Query(), number: len(s.requests)}
	var ok bool
	x.service, ok = find(r.URL.Path)
	speak, speaks := s.speechService(r.Method, r.URL.Path)
	if speaks {
		x.on = onSpeech
	}
	s.requests[x.number-1].On = x.on
	x.checkKeyLeaks()
	if speaks {
		return speak(x)
	}
	if !ok {
		x.violate("%s %s: there is no such address", r.Method, r.URL.Path)
		return &reply{status: http.StatusNotFound, mime: "text/plain; charset=utf-8", body: []byte("404 page not found")}
	}
	return x.respond()
}

// respond finds the step of a request and decides whether to answer or refuse it.
func (x *exchange) respond() *reply {
	refused := x.inspect()
	x.pick(refused)
	switch {
	case refused != nil && x.step != nil && x.step.Refused == refused.status:
		return x.refuse(x, refused)
	case refused != nil:
		x.violate("%s", refused.message)
		return x.refuse(x, refused)
	case x.step == nil && x.free():
		return x.answer(x)
	case x.step == nil:
		x.violate("unexpected request; %s", x.expected())
		return x.refuse(x, &refusal{status: http.StatusBadRequest, code: "unexpected_request",
			message: "the scenario has no step for this request"})
	case x.step.Refused != 0:
		x.violate("it should have been refused with %d, but nothing is wrong with it", x.step.Refused)
		return x.refuse(x, &refusal{status: http.StatusBadRequest, code: "not_refused",
			message: "the request should have been refused"})
	}
	return x.play()
}

// play answers by the step.
func (x *exchange) play() *reply {
	x.compare()
	if x.dialog != nil {
		x.dialog.request(x.on, x.body)
	}
	if x.fails() {
		return x.decorate(x.verbatimOr(x.refuse(x, x.failure())))
	}
	return x.decorate(x.verbatimOr(x.answer(x)))
}

// fails reports whether the step is an HTTP error. What would be an error inside a
// stream is one, too, if no stream was requested.
func (x *exchange) fails() bool {
	step := x.step
	inStream := hasWord("error_flat error_nested", step.Fault) || step.Variant == "mid_stream_error"
	return step.Status >= 400 || step.Error != nil && step.Fault == "" && !inStream || inStream && !x.streams()
}

// verbatimOr replaces the body by that of the step, if there is one.
func (x *exchange) verbatimOr(r *reply) *reply {
	if x.step.Body != "" {
		r.body, r.frames, r.mime = []byte(x.step.Body), nil, cmp.Or(x.step.Type, r.mime)
	}
	return r
}

// inspect finds what the service would refuse by itself.
func (x *exchange) inspect() *refusal {
	if x.r.Method != x.method {
		return &refusal{status: http.StatusMethodNotAllowed, code: "method_not_supported",
			message: fmt.Sprintf("Not allowed to %s on %s.", x.r.Method, x.r.URL.Path)}
	}
	if x.check == nil {
		return nil
	}
	return x.check(x)
}

// free reports whether a request needs no step: lists, as long as no step is about
// them.
func (x *exchange) free() bool { return hasWord(listServices, x.on) && !x.plays(x.on) }

// violate records a violation.
func (x *exchange) violate(format string, args ...any) {
	where := fmt.Sprintf("request %d", x.number)
	switch {
	case x.step != nil:
		where += fmt.Sprintf(" (%s, step %d)", x.on, x.index+1)
	case x.on != "":
		where += fmt.Sprintf(" (%s)", x.on)
	}
	x.violations = append(x.violations, where+": "+fmt.Sprintf(format, args...))
}
