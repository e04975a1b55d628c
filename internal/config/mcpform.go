package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// MCP servers are written by name, or as a list in which each has a name. Errors show no values, because a key may be
// in the wrong place.

// parseMCP reads either form.
func parseMCP(s setting) (mcpServers, error) {
	if s.tree == nil {
		return nil, nil
	}
	entries, err := mcpEntries(s.tree)
	if err != nil {
		return nil, err
	}
	var all mcpServers
	for _, e := range entries {
		r := mcpReader{MCPServer: MCPServer{Name: e.name}, setting: s, hasName: s.tree.Kind == yaml.SequenceNode}
		if err := r.read(e.node); err != nil {
			return nil, fmt.Errorf("%s: %v", e.label(), err)
		}
		if slices.ContainsFunc(all, func(m MCPServer) bool { return m.Name == r.Name }) {
			return nil, fmt.Errorf("%s is there twice", r.Name)
		}
		all = append(all, r.MCPServer)
	}
	return all, nil
}

// An entry is a value with its name, or its number if it has none.
type entry struct {
	name string
	node *yaml.Node
	at   int
}

func (e entry) label() string {
	if e.name != "" {
		return e.name
	}
	return fmt.Sprintf("server %d", e.at)
}

func mcpEntries(n *yaml.Node) ([]entry, error) {
	switch n.Kind {
	case yaml.MappingNode:
		return pairs(n)
	case yaml.SequenceNode:
		var all []entry
		for i, item := range n.Content {
			all = append(all, entry{node: item, at: i + 1})
		}
		return all, nil
	}
	return nil, errors.New("it must hold servers by name, or a list of them")
}

// pairs returns the names and values of a mapping, without nulls.
func pairs(n *yaml.Node) ([]entry, error) {
	if n.Kind != yaml.MappingNode {
		return nil, errors.New("it must hold names and values")
	}
	var all []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		switch {
		case name.Kind != yaml.ScalarNode || name.Value == "":
			return nil, errors.New("there is a value without a name")
		case slices.ContainsFunc(all, func(e entry) bool { return e.name == name.Value }):
			return nil, fmt.Errorf("%s is set twice", name.Value)
		case value.Kind == yaml.AliasNode:
			return nil, fmt.Errorf("%s: aliases are not supported; write the value out", name.Value)
		case value.Tag != "!!null":
			all = append(all, entry{name: name.Value, node: value})
		}
	}
	return all, nil
}

// An mcpReader reads one server.
type mcpReader struct {
	MCPServer
	setting
	hasName bool // the name is one of its fields
	args    []string
}

func (r *mcpReader) read(n *yaml.Node) error {
	fields, err := pairs(n)
	if err != nil {
		return err
	}
	for _, f := range fields {
		if err := r.field(f.name, f.node); err != nil {
			return err
		}
	}
	if err := r.check(); err != nil {
		return err
	}
	r.Command = append(r.Command, r.args...)
	return nil
}

// field reads one field of a server.
func (r *mcpReader) field(name string, n *yaml.Node) (err error) {
	known := []string{"command", "args", "env", "url", "headers", "tools", "timeout_seconds"}
	if r.hasName {
		known = append(known, "name", "mcp_server_name")
	}
	if !slices.Contains(known, name) {
		return unknownField(name, known)
	}
	switch name {
	case "name", "mcp_server_name":
		err = r.setName(n)
	case "command":
		r.Command, err = r.command(n)
	case "args":
		r.args, err = listOf(n)
	case "env":
		r.Env, err = valuesOf(n, variableForm.Get())
	case "url":
		r.URL, err = mcpAddress(n)
	case "headers":
		r.Header, err = valuesOf(n, headerForm.Get())
	case "tools":
		r.Tools, err = listOf(n)
	case "timeout_seconds":
		r.Timeout, err = secondsOf(n)
	}
	if err != nil {
		return fmt.Errorf("%s: %v", name, err)
	}
	return nil
}

func unknownField(name string, known []string) error {
	if near, ok := fault.Nearest(name, known); ok {
		return fmt.Errorf("there is no setting %q; did you mean %s?", name, near)
	}
	return fmt.Errorf("there is no setting %q; a server has %s", name, strings.Join(known, ", "))
}

var (
	// Tools are named {server}_{tool}, so a name has no _.
	serverForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9-]{0,31}$`)
	headerForm = lazyregexp.New(`^[A-Za-z0-9!#$%&'*+.^_|~-]+$`)
)

// check checks the fields against each other.
func (r *mcpReader) check() error {
	switch {
	case !serverForm.Get().MatchString(r.Name):
		return errors.New("a server's name has 1 to 32 letters, digits and dashes")
	case len(r.Command) > 0 && r.URL != "":
		return errors.New("it has both a command and a url; which of them is meant?")
	case len(r.Command) == 0 && r.URL == "":
		return errors.New("it has neither a command nor a url")
	case len(r.Command) == 0 && (len(r.args) > 0 || len(r.Env) > 0):
		return errors.New("args and env are for a command; a url has headers")
	case r.URL == "" && len(r.Header) > 0:
		return errors.New("headers are for a url; a command has env")
	}
	return nil
}

func (r *mcpReader) setName(n *yaml.Node) error {
	if r.Name != "" {
		return errors.New("it has a name already")
	}
	name, err := wordOf(n)
	r.Name = name
	return err
}

// command reads a program, alone or with its arguments. A path is relative to the file, a mere name is searched in
// PATH.
func (r *mcpReader) command(n *yaml.Node) ([]string, error) {
	if n.Kind == yaml.ScalarNode && strings.ContainsAny(strings.TrimSpace(n.Value), " \t\n") {
		return nil, errors.New("several words are a list, as [npx, -y, docs-server]")
	}
	words, err := listOf(n)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 || strings.TrimSpace(words[0]) == "" {
		return nil, errors.New("the program is missing")
	}
	if strings.ContainsAny(words[0], `/\`) {
		words[0], err = file(setting{words: words[:1], base: r.base, home: r.home})
	}
	return words, err
}

// mcpAddress does not show an invalid URL, because it may contain a key.
func mcpAddress(n *yaml.Node) (string, error) {
	word, err := wordOf(n)
	if err != nil {
		return "", err
	}
	at, err := address(setting{words: []string{word}})
	if err != nil {
		return "", errors.New("it is not an address such as https://mcp.example.com/mcp; keys go into headers")
	}
	return at, nil
}

func secondsOf(n *yaml.Node) (time.Duration, error) {
	word, err := wordOf(n)
	if err != nil {
		return 0, err
	}
	seconds, err := between(1, 3600)(setting{words: []string{word}})
	return time.Duration(seconds) * time.Second, err
}

func wordOf(n *yaml.Node) (string, error) {
	if n.Kind != yaml.ScalarNode {
		return "", errors.New("it must be a single value")
	}
	return strings.TrimSpace(n.Value), checkValue(n.Value)
}

// listOf reads a list; a single value is a list of one.
func listOf(n *yaml.Node) ([]string, error) {
	items := n.Content
	switch n.Kind {
	case yaml.ScalarNode:
		items = []*yaml.Node{n}
	case yaml.SequenceNode:
	default:
		return nil, errors.New("it must be a list of words")
	}
	var words []string
	for _, item := range items {
		if item.Kind != yaml.ScalarNode || strings.ContainsRune(item.Value, 0) {
			return nil, errors.New("it must be a list of words")
		}
		words = append(words, item.Value)
	}
	return words, nil
}

// valuesOf reads the variables of a program, or headers.
func valuesOf(n *yaml.Node, form *regexp.Regexp) (map[string]string, error) {
	list, err := pairs(n)
	if err != nil {
		return nil, err
	}
	values := make(map[string]string)
	for _, e := range list {
		word, err := wordOf(e.node)
		if err == nil {
			err = checkReferences(word)
		}
		if err == nil && !form.MatchString(e.name) {
			err = errors.New("it is not a name that there can be")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %v", e.name, err)
		}
		values[e.name] = word
	}
	return values, nil
}
