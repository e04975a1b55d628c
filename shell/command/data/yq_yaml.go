package data

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"hako/shell/command/internal/cli"
	"hako/shell/jq"
)

// A yqBadData error is YAML that cannot be read.
type yqBadData struct{ why string }

func (e *yqBadData) Error() string { return e.why }

// readYAML reads the documents of a stream. The tree the library builds is
// many times larger than the text, so the text is charged to the limiter with
// a factor before it is parsed. An alias becomes another reference to the same
// value, not a copy, so that nested aliases cannot exhaust memory.
func (y *yqCall) readYAML(in io.Reader, each func(any)) {
	counter := &yamlReader{in: in, usage: y.run.Usage}
	dec := yaml.NewDecoder(counter)
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		cli.Check(counter.err)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			badYAML("%s", strings.TrimPrefix(err.Error(), "yaml: "))
		}
		d := &yqDecoder{run: y.run, made: map[*yaml.Node]any{}}
		each(d.value(&doc))
		if !y.all {
			y.run.Fixed -= counter.kept
			counter.kept = 0
		}
	}
}

func badYAML(format string, args ...any) { cli.Check(&yqBadData{fmt.Sprintf(format, args...)}) }

// yqByteCost is how many bytes of tree one byte of YAML becomes at most: "[a,a,…" has
// a node for every two bytes.
const yqByteCost = 120

// yamlReader charges the bytes that the parser reads.
type yamlReader struct {
	in    io.Reader
	usage *jq.Usage
	kept  int64 // counted for the document that is being read
	err   error
}

func (r *yamlReader) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.kept += yqByteCost * int64(n)
	r.usage.Keep(yqByteCost * int64(n))
	if err != nil && err != io.EOF {
		r.err = err
	}
	return n, err
}

// A yqDecoder turns nodes into values.
type yqDecoder struct {
	run  *jq.Run
	made map[*yaml.Node]any // values that have an anchor
}

func (d *yqDecoder) value(n *yaml.Node) any {
	at := d.run.EnterValue()
	defer d.run.Leave(at)
	v := d.plain(n)
	if n.Anchor != "" {
		d.made[n] = v
	}
	return v
}

func (d *yqDecoder) plain(n *yaml.Node) any {
	switch n.Kind {
	case yaml.DocumentNode:
		if len(n.Content) == 0 {
			return nil
		}
		root := n.Content[0]
		root.HeadComment = cmp.Or(root.HeadComment, n.HeadComment)
		root.FootComment = cmp.Or(root.FootComment, n.FootComment)
		return d.value(root)
	case yaml.AliasNode:
		v, ok := d.made[n.Alias]
		if !ok {
			badYAML("anchor '%s' contains itself", n.Value)
		}
		return v
	case yaml.SequenceNode:
		list := &jq.Array{Items: make([]any, 0, len(n.Content)), Origin: n}
		for _, c := range n.Content {
			list.Items = append(list.Items, d.value(c))
		}
		d.run.Alloc(24 * int64(len(list.Items)))
		return list
	case yaml.MappingNode:
		return d.mapping(n)
	}
	return yamlScalar(n)
}

// mapping keeps the order of keys; merged keys never replace explicit ones.
func (d *yqDecoder) mapping(n *yaml.Node) any {
	o := jq.NewObject(len(n.Content) / 2)
	d.run.Alloc(40 * int64(len(n.Content)))
	var merged []any
	for i := 0; i+1 < len(n.Content); i += 2 {
		v := d.value(n.Content[i+1])
		key := n.Content[i]
		if key.Kind == yaml.ScalarNode && key.Value == "<<" && key.ShortTag() == "!!merge" {
			merged = append(merged, v)
			continue
		}
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind != yaml.ScalarNode {
			badYAML("line %d: a key must be a scalar", key.Line)
		}
		o.Put(key.Value, v)
	}
	if len(merged) == 0 {
		o.Origin = n
	}
	for _, v := range merged {
		d.merge(o, v)
	}
	return o
}

func (d *yqDecoder) merge(o *jq.Object, v any) {
	switch v := v.(type) {
	case *jq.Object:
		for i, k := range v.Keys {
			if o.Find(k) < 0 {
				o.Put(k, v.Vals[i])
			}
		}
		d.run.Alloc(40 * int64(len(v.Keys)))
	case *jq.Array:
		for _, item := range v.Items {
			if _, ok := item.(*jq.Object); ok {
				d.merge(o, item)
			}
		}
	}
}

// yamlScalar reads a scalar by its tag; dates stay text.
func yamlScalar(n *yaml.Node) any {
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return strings.EqualFold(n.Value, "true")
	case "!!int":
		text := strings.ReplaceAll(n.Value, "_", "")
		if v, ok := jq.ParseNumber(strings.TrimPrefix(text, "+")); ok && !strings.HasPrefix(text, "0o") {
			return v
		}
		if v, err := strconv.ParseInt(text, 0, 64); err == nil {
			return float64(v)
		}
	case "!!float":
		switch strings.ToLower(strings.TrimPrefix(n.Value, "+")) {
		case ".inf":
			return math.Inf(1)
		case "-.inf":
			return math.Inf(-1)
		case ".nan":
			return math.NaN()
		}
		if v, err := strconv.ParseFloat(strings.ReplaceAll(n.Value, "_", ""), 64); err == nil {
			return v
		}
	}
	return n.Value
}
