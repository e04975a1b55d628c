package config

import (
	"maps"
	"slices"

	"go.yaml.in/yaml/v3"
)

// A row is one entry of a table, a setting whose entries the user names.
type row struct {
	name   string
	fields map[string]string // an unset field is missing
}

func rowNames(rows []row) []string {
	names := make(map[string]bool)
	for _, r := range rows {
		names[r.name] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// table reads a table.
func (r *reader) table(k *spec, name string, n *yaml.Node, s setting) error {
	if n.Kind != yaml.MappingNode {
		return r.refuse(n, name+" must hold names and values")
	}
	seen := make(map[string]bool)
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, value := n.Content[i], n.Content[i+1]
		if seen[at.Value] || at.Kind != yaml.ScalarNode {
			return r.refuse(at, name+"."+at.Value+" is set twice, or not by a name")
		}
		seen[at.Value] = true
		fields, err := r.row(k, name+"."+at.Value, value)
		if err != nil {
			return err
		}
		s.rows = append(s.rows, row{at.Value, fields})
	}
	return r.config.put(k, s)
}

// row reads one row of a table. The only field of a row is written without its name.
func (r *reader) row(k *spec, name string, n *yaml.Node) (map[string]string, error) {
	known := k.fields
	switch {
	case len(known) == 1 && n.Kind == yaml.ScalarNode:
		return map[string]string{known[0]: n.Value}, nil
	case len(known) == 1:
		return nil, r.refuse(n, name+" must be a single value")
	case n.Kind != yaml.MappingNode:
		return nil, r.refuse(n, name+" must hold names and values")
	}
	fields := make(map[string]string)
	for i := 0; i+1 < len(n.Content); i += 2 {
		at, value := n.Content[i], n.Content[i+1]
		_, twice := fields[at.Value]
		switch {
		case !slices.Contains(known, at.Value):
			return nil, unknown(at.Value, r.where(at), known)
		case twice:
			return nil, r.refuse(at, name+"."+at.Value+" is set twice")
		case value.Kind != yaml.ScalarNode:
			return nil, r.refuse(value, name+"."+at.Value+" must be a single value")
		case value.Tag != "!!null":
			fields[at.Value] = value.Value
		}
	}
	return fields, nil
}
