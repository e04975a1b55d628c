package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"hako/run/fault"
)

// parse reads the text of hako.yaml and reports whether it sets a secret.
func (c *Config) parse(path string, local bool, text []byte) (secret bool, err error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return false, &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: path,
			Err:  errors.New(strings.TrimPrefix(err.Error(), "yaml: ")),
			Hint: "mend that line: YAML is indented with blanks, not with tabs, and what is opened has to be closed"}
	}
	if len(doc.Content) == 0 || doc.Content[0].Tag == "!!null" {
		return false, nil
	}
	r := reader{config: c, path: path, local: local}
	if err = r.mapping("", doc.Content[0]); err == nil {
		err = r.llm()
	}
	return r.secret, err
}

// A reader walks the tree of one file.
type reader struct {
	config *Config
	path   string
	local  bool
	secret bool
}

func (r *reader) where(n *yaml.Node) string { return fmt.Sprintf("%s:%d", r.path, n.Line) }

func (r *reader) refuse(n *yaml.Node, why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: r.where(n), Why: why}
}

// mapping reads the settings below prefix.
func (r *reader) mapping(prefix string, n *yaml.Node) error {
	if n.Kind != yaml.MappingNode {
		if prefix == "" {
			return r.refuse(n, "the file must hold names and values")
		}
		return r.refuse(n, fmt.Sprintf("%s must hold names and values", strings.TrimSuffix(prefix, ".")))
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		name := prefix + n.Content[i].Value
		if seen[name] {
			return r.refuse(n.Content[i], name+" is set twice")
		}
		seen[name] = true
		if err := r.entry(name, n.Content[i], n.Content[i+1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) entry(name string, at, value *yaml.Node) error {
	var siblings []string
	parent := name[:strings.LastIndexByte(name, '.')+1]
	for _, k := range r.config.specs {
		if k.name == name {
			return r.value(k, name, value)
		}
		if strings.HasPrefix(k.name, name+".") {
			if value.Tag == "!!null" {
				return nil
			}
			return r.mapping(name+".", value)
		}
		if rest, ok := strings.CutPrefix(k.name, parent); ok {
			first, _, _ := strings.Cut(rest, ".")
			siblings = append(siblings, parent+first)
		}
	}
	return unknown(name, r.where(at), siblings)
}

// value reads one setting. Aliases are refused, because they let a small file expand to a huge one.
func (r *reader) value(k *spec, name string, n *yaml.Node) error {
	s := setting{from: r.where(n), base: filepath.Dir(r.path), local: r.local}
	switch {
	case n.Kind == yaml.ScalarNode && n.Tag == "!!null":
		return nil
	case k.tree:
		s.tree = n
	case k.fields != nil:
		return r.table(k, name, n, s)
	case n.Kind == yaml.ScalarNode:
		s.words = []string{n.Value}
	case n.Kind == yaml.SequenceNode && k.list:
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode {
				return r.refuse(item, name+" must be a list of words")
			}
			s.words = append(s.words, item.Value)
		}
	case n.Kind == yaml.AliasNode:
		return r.refuse(n, "aliases are not supported; write the value out")
	case k.list:
		return r.refuse(n, name+" must be a list of words")
	default:
		return r.refuse(n, name+" must be a single value")
	}
	r.secret = r.secret || len(k.secrets(s)) > 0
	return r.config.put(k, s)
}
