// Package mcpclient offers a model the tools of other MCP servers.
//
// Inside are the programs and addresses that speak MCP, the names and schemas of their tools as models take them, and
// what their answers come to. Who may call what is not here: that is for the gate that stands before every call. The
// one rule to keep: a server is a stranger. It gets nothing of our environment but where things are, whatever it sends
// is bounded and cleaned, and what it asks of us is refused.
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

// A Server is one that speaks MCP: a program or an address.
type Server struct {
	Name    string            // the names of its tools begin with it; letters, digits and dashes
	Command []string          // the program and its arguments, which speaks on its standard streams
	Env     map[string]string // added to a small environment; nothing else of ours is in it
	URL     string            // or where it is reached by HTTP; exactly one of the two is given
	Header  map[string]string // sent with each request to URL
	Tools   []string          // only these are offered; empty means all
	Timeout time.Duration     // of one call; zero means 60 seconds
}

// Options are how the servers are kept.
type Options struct {
	// Log gets what the servers write on standard error and what is odd about them, a line at a time and never two at
	// once. Nil means nobody reads it.
	Log func(server, line string)
	// Secrets are taken out of all that the servers say. The secrets found in Env and Header are added to it. Nil means
	// no others are known.
	Secrets *redact.Set
	Start   time.Duration // until a server has listed its tools; zero means 30 seconds
	Version string        // of this program, which the servers are told; empty means "dev"
}

const (
	usualTimeout = 60 * time.Second
	usualStart   = 30 * time.Second
	mostTools    = 128 // what the services take; a model is lost before that
)

// A Servers is a number of servers that were started together and end together.
type Servers struct {
	members []*serverConn
	tools   []gated.Tool
	leave   context.CancelFunc // ends what the members are at
	forget  func() bool        // the end of the context no longer ends the party
	close   func()
}

// Open starts the servers and lists their tools. They run until Close, or until the context ends. If one cannot be
// used, none is left running.
func Open(ctx context.Context, servers []Server, o Options) (*Servers, error) {
	if err := check(servers); err != nil {
		return nil, err
	}
	if o.Secrets == nil {
		o.Secrets = &redact.Set{}
	}
	inside, leave := context.WithCancel(ctx)
	p := &Servers{leave: leave}
	var log sync.Mutex
	for _, s := range servers {
		o.Secrets.Add(secretsOf(s)...)
		p.members = append(p.members, newServerConn(inside, s, o, &log))
	}
	p.close = sync.OnceFunc(p.end)
	p.forget = context.AfterFunc(ctx, p.close)
	if err := p.gather(inside); err != nil {
		_ = p.Close()
		return nil, err
	}
	return p, nil
}

// gather starts all servers at once: some take long.
func (p *Servers) gather(ctx context.Context) error {
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
	if len(p.tools) > mostTools {
		var counts []string
		for _, m := range p.members {
			counts = append(counts, fmt.Sprintf("%s has %d", m.Name, len(m.tools)))
		}
		return &fault.Error{Kind: fault.Invalid, Op: "offer the tools of the MCP servers",
			Why:  fmt.Sprintf("there are %d, and models take at most %d", len(p.tools), mostTools),
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

// Tools returns the tools of all servers. Each call is carried out without further question: put them behind a gate.
func (p *Servers) Tools() []gated.Tool { return slices.Clone(p.tools) }

// Close ends the servers and all that they started, and waits for it.
func (p *Servers) Close() error {
	p.forget()
	p.close()
	return nil
}

func (p *Servers) end() {
	p.leave()
	each(p.members, func(_ int, m *serverConn) { m.end() })
}

// check finds the mistakes that can be seen without starting anything.
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

// mistake says what is wrong with a server, or nothing.
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

// secretsOf returns what in a server's settings must never be seen: servers repeat their settings when they complain.
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

// errLeft is why a call ends when the party does.
var errLeft = errors.New("the MCP servers are closed")
