package data

import (
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"hako/internal/lazyregexp"
	"hako/shell/jq"
	"hako/shell/stream"
)

// writeYAML prints one value. Parts that were shared are written out each
// time, so every node is counted.
func (y *yqCall) writeYAML(v any, w *stream.Writer) error {
	y.run.Pin()
	defer y.run.Unpin()
	enc := yaml.NewEncoder(w)
	enc.SetIndent(max(y.indent, 1))
	if err := enc.Encode(y.node(v)); err != nil {
		return err
	}
	return enc.Close()
}

func (y *yqCall) node(v any) *yaml.Node {
	at := y.run.EnterValue()
	defer y.run.Leave(at)
	y.run.Alloc(256)
	switch v := v.(type) {
	case *jq.Array:
		return y.sequence(v)
	case *jq.Object:
		return y.mapping(v)
	}
	return yamlText(v)
}

// newContainer returns an empty container with the style and comments of its origin.
func newContainer(origin any, kind yaml.Kind, tag string, empty bool) (n, src *yaml.Node) {
	n = &yaml.Node{Kind: kind, Tag: tag}
	src, _ = origin.(*yaml.Node)
	if src != nil {
		n.Style, n.HeadComment, n.LineComment, n.FootComment = src.Style, src.HeadComment, src.LineComment, src.FootComment
	}
	if empty {
		n.Style = yaml.FlowStyle
	} else if src != nil && len(src.Content) == 0 {
		n.Style = 0
	}
	return n, src
}

func (y *yqCall) sequence(a *jq.Array) *yaml.Node {
	n, src := newContainer(a.Origin, yaml.SequenceNode, "!!seq", len(a.Items) == 0)
	for i, item := range a.Items {
		c := y.node(item)
		if src != nil && i < len(src.Content) {
			c = restyle(c, src.Content[i], item)
		}
		n.Content = append(n.Content, c)
	}
	return n
}

func (y *yqCall) mapping(o *jq.Object) *yaml.Node {
	n, src := newContainer(o.Origin, yaml.MappingNode, "!!map", len(o.Keys) == 0)
	old := map[string]int{}
	if src != nil {
		for i := 0; i+1 < len(src.Content); i += 2 {
			old[src.Content[i].Value] = i
		}
	}
	for i, k := range o.Keys {
		c := y.node(o.Vals[i])
		key := yamlKey(k)
		if at, ok := old[k]; ok {
			was := src.Content[at]
			key = &yaml.Node{Kind: yaml.ScalarNode, Tag: was.Tag, Value: was.Value, Style: was.Style,
				HeadComment: was.HeadComment, LineComment: was.LineComment, FootComment: was.FootComment}
			c = restyle(c, src.Content[at+1], o.Vals[i])
		}
		n.Content = append(n.Content, key, c)
	}
	return n
}

// restyle gives a scalar the style of the one that it replaces: its spelling if the
// value is the same, else its comments and, if both are text, its quotes.
func restyle(n, was *yaml.Node, v any) *yaml.Node {
	if n.Kind != yaml.ScalarNode || was.Kind != yaml.ScalarNode {
		return n
	}
	n.HeadComment, n.LineComment, n.FootComment = was.HeadComment, was.LineComment, was.FootComment
	before := yamlScalar(was)
	if before == v {
		n.Tag, n.Value, n.Style = was.Tag, was.Value, was.Style
		return n
	}
	_, wasText := before.(string)
	if text, isText := v.(string); isText && wasText && !strings.Contains(text, "\n") {
		n.Style = was.Style &^ (yaml.LiteralStyle | yaml.FoldedStyle)
	}
	return n
}

// yamlRisky matches text that YAML 1.1 reads as a boolean or a number.
var yamlRisky = lazyregexp.New(`^(?i:y|n|yes|no|on|off)$|^[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?$`)

// yamlKey writes a key. Whole numbers are not quoted.
func yamlKey(k string) *yaml.Node {
	n := yamlText(k)
	if _, err := strconv.ParseUint(k, 10, 32); err == nil && (k == "0" || k[0] != '0') {
		n.Tag = "!!int"
	}
	return n
}

func yamlText(v any) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	switch v := v.(type) {
	case nil:
		n.Tag, n.Value = "!!null", "null"
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	case jq.Big:
		n.Tag, n.Value = "!!int", v.Text
	case float64:
		n.Tag, n.Value = "!!float", yamlNumber(v)
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			n.Tag = "!!int"
		}
	case string:
		n.Tag, n.Value = "!!str", v
		switch {
		case strings.Contains(v, "\n") && v == strings.TrimLeft(v, " \t\n"):
			n.Style = yaml.LiteralStyle
		case yamlRisky.Get().MatchString(v):
			n.Style = yaml.DoubleQuotedStyle
		}
	}
	return n
}

func yamlNumber(f float64) string {
	switch {
	case math.IsNaN(f):
		return ".nan"
	case math.IsInf(f, 1):
		return ".inf"
	case math.IsInf(f, -1):
		return "-.inf"
	}
	return string(jq.AppendNumber(nil, f))
}
