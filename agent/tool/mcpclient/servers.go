// Package mcpclient connects to MCP servers and offers their tools to a model.
//
// It starts the programs, converts names and schemas of tools to what models accept, and results to text. Which calls
// are allowed is decided by the gate before every call. Servers are not trusted: a server gets only a small
// environment, whatever it sends is bounded and cleaned, and its requests to the client are refused.
package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/agent/tool/gated"
	"hako/internal/redact"
	"hako/run/fault"
)

// A Server is an MCP server: a program or a URL.
type Server struct {
	Name    string            // the names of its tools begin with it; letters, digits and dashes
	Command []string          // the program and its arguments, with MCP on its standard streams
	Env     map[string]string // added to a small environment
	URL     string            // the HTTP endpoint; exactly one of Command and URL is set
	Header  map[string]string // sent with each request to URL
	Tools   []string          // only these are offered; empty means all
	Timeout time.Duration     // of one call; zero means 60 seconds
}

// Options are the options of [Open].
type Options struct {
	// Log receives what the servers write on standard error and remarks on them, a line at a time and never two at
	// once. Nil means no log.
	Log func(server, line string)
	// Secrets are redacted from everything that the servers send. The secrets found in Env and Header are added to it.
	// Nil means no others.
	Secrets *redact.Set
	Start   time.Duration // until a server has listed its tools; zero means 30 seconds
	Version string        // of this program, sent to the servers; empty means "dev"
}

const (
	defaultTimeout = 60 * time.Second
	defaultStart   = 30 * time.Second
	maxTools       = 128 // what the services accept
)

// Servers are servers that are started and closed together.
type Servers struct {
	members []*serverConn
	tools   []gated.Tool
	cancel  context.CancelFunc // ends the calls of the servers
	unwatch func() bool        // the end of the context no longer closes the servers
	close   func()
}

// Open starts the servers and lists their tools. They run until Close, or until the context ends. If one fails, all are
// ended.
func Open(ctx context.Context, servers []Server, o Options) (*Servers, error) {
	if err := check(servers); err != nil {
		return nil, err
	}
	if o.Secrets == nil {
		o.Secrets = &redact.Set{}
	}
	lifetime, cancel := context.WithCancel(ctx)
	p := &Servers{cancel: cancel}
	var log sync.Mutex
	for _, s := range servers {
		o.Secrets.Add(secretsOf(s)...)
		p.members = append(p.members, newServerConn(lifetime, s, o, &log))
	}
	p.close = sync.OnceFunc(p.end)
	p.unwatch = context.AfterFunc(ctx, p.close)
	if err := p.start(lifetime); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// start starts all servers at once: some take long.
func (p *Servers) start(ctx context.Context) error {
	failed := make([]error, len(p.members))
	each(p.members, func(i int, m *serverConn) { failed[i] = m.open(ctx) })
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	for _, m := range p.members {
		p.tools = append(p.tools, m.tools...)
	}
	return p.checkTools()
}

// each runs f for all members at once and waits.
func each(members []*serverConn, f func(i int, m *serverConn)) {
	var wg sync.WaitGroup
	for i, m := range members {
		wg.Go(func() { f(i, m) })
	}
	wg.Wait()
}

func (p *Servers) checkTools() error {
	if len(p.tools) > maxTools {
		var counts []string
		for _, m := range p.members {
			counts = append(counts, fmt.Sprintf("%s has %d", m.Name, len(m.tools)))
		}
		return &fault.Error{Kind: fault.Invalid, Op: "offer the tools of the MCP servers",
			Why:  fmt.Sprintf("there are %d, and models take at most %d", len(p.tools), maxTools),
			Hint: "choose some with tools: in mcp_servers (" + strings.Join(counts, ", ") + ")"}
	}
	seen := map[string]gated.Tool{}
	for _, t := range p.tools {
		if other, ok := seen[t.Name]; ok {
			return &fault.Error{Kind: fault.Invalid, Op: "offer tool", Subject: t.Name,
				Why:  "two tools have this name: " + strings.Join(other.Words[1:], " ") + " and " + strings.Join(t.Words[1:], " "),
				Hint: "choose one of them with tools: in mcp_servers"}
		}
		seen[t.Name] = t
	}
	return nil
}

// Tools returns the tools of all servers. Calls are not checked here: put them behind a gate.
func (p *Servers) Tools() []gated.Tool { return slices.Clone(p.tools) }

// Close ends the servers and all that they started, and waits for it.
func (p *Servers) Close() error {
	p.unwatch()
	p.close()
	return nil
}

func (p *Servers) end() {
	p.cancel()
	each(p.members, func(_ int, m *serverConn) { m.end() })
}

// check validates the settings of the servers.
func check(servers []Server) error {
	seen := map[string]bool{}
	for _, s := range servers {
		why := s.mistake()
		if why == "" && seen[s.Name] {
			why = "another server has the same name"
		}
		if why != "" {
			return &fault.Error{Kind: fault.Invalid, Op: "use MCP server", Subject: s.Name, Why: why,
				Hint: "correct it in mcp_servers"}
		}
		seen[s.Name] = true
	}
	return nil
}

// mistake says what is wrong with the settings of a server; empty means nothing.
func (s *Server) mistake() string {
	odd := func(name string) bool { return name == "" || strings.ContainsAny(name, "=\x00\r\n") }
	switch {
	case s.Name == "" || strings.ContainsFunc(s.Name, func(r rune) bool { return !letter(r) && r != '-' }):
		return "its name is not of letters, digits and dashes"
	case (len(s.Command) > 0) == (s.URL != ""):
		return "it needs a command or a url, and not both"
	case len(s.Command) > 0 && s.Command[0] == "":
		return "its command is empty"
	case s.URL != "" && !address(s.URL):
		return "its url is not one such as https://host/mcp"
	case s.URL != "" && len(s.Env) > 0, s.URL == "" && len(s.Header) > 0:
		return "env is for a command, headers are for a url"
	case slices.ContainsFunc(slices.Collect(maps.Keys(s.Env)), odd),
		slices.ContainsFunc(slices.Collect(maps.Keys(s.Header)), odd):
		return "a variable or header has a name that cannot be"
	case s.Timeout < 0:
		return "its timeout is below zero"
	}
	return ""
}

func address(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
}

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// secretsOf returns the secrets in a server's settings: servers echo their settings in error messages.
func secretsOf(s Server) (list []string) {
	for name, value := range s.Env {
		list = append(list, redact.Find(name+"="+value)...)
	}
	for name, value := range s.Header {
		list = append(list, redact.Find(name+": "+value)...)
		switch strings.ToLower(name) {
		case "authorization", "proxy-authorization", "cookie":
			list = append(list, slices.DeleteFunc(strings.Fields(value), func(word string) bool { return len(word) < 8 })...)
		}
	}
	if u, err := url.Parse(s.URL); err == nil {
		for name := range u.Query() {
			list = append(list, redact.Find(name+"="+u.Query().Get(name))...)
		}
	}
	return list
}

// errClosed is the cause of calls that end because of Close.
var errClosed = errors.New("the MCP servers are closed")
