package rules

import (
	"encoding/json"
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// A jsonLayout is the structure of the documents of a file.
type jsonLayout struct {
	Docs  int        `json:"docs"`  // of those looked at
	Type  string     `json:"type"`  // of the first
	Len   int        `json:"len"`   // of the first
	Paths [][]string `json:"paths"` // to every value, "[]" for elements
	Kinds []string   `json:"kinds"` // the types there
	Loose bool       `json:"-"`     // lines that are no JSON stand between
	More  bool       `json:"-"`     // there are more paths than these
}

// jsonProbe describes the first documents of a file: enough of them to know the keys, little enough to be quick.
const jsonProbe = `def few: if type == "array" then .[:20] | map(few) elif type == "object" then map_values(few) else . end; ` +
	`[limit(50; inputs)] | . as $d | {docs: length, type: (.[0] | type), len: (.[0] | if type == "array" or type == "object" then length else 0 end)} + ` +
	`([$d[] | few | . as $v | paths | {p: map(if type == "number" then "[]" else . end), k: (. as $p | $v | getpath($p) | type)}] | unique_by(.p) | .[:150] | {paths: map(.p), kinds: map(.k)})`

// maxPaths is how many paths the probe lists.
const maxPaths = 150

// lookJSON detects the structure of a file of JSON. A loose one has other lines too, as logs do.
func (t *conversation) lookJSON(file string, loose bool) *layout {
	p := from(file)
	if loose {
		p = p.then("jq", "-Rc", "fromjson?")
	}
	out := t.run(p.then("jq", "-nc", jsonProbe))
	j := &jsonLayout{Loose: loose}
	if json.Unmarshal([]byte(out.Out), j) != nil {
		j.Paths = nil
	}
	j.More = out.Cut || len(j.Paths) >= maxPaths
	return &layout{file: file, json: j}
}

// jsonWords is the stage that applies a filter to the documents.
func (l *layout) jsonWords(filter string) []string {
	if l.json.Loose {
		return []string{"jq", "-Rr", "fromjson? | " + filter}
	}
	return []string{"jq", "-r", filter}
}

// scalarText makes one line of any value.
const scalarText = ` | tostring | gsub("[\r\n]+"; " ")`

// jqPath is the filter of a path; missing values are skipped.
func jqPath(path []string) string { return jqSteps(path) + " | values" }

// jqSteps is the filter of a path alone.
func jqSteps(path []string) string {
	text := ""
	for _, step := range path {
		switch {
		case step == "[]" && text == "":
			text = ".[]?"
		case step == "[]":
			text += "[]?"
		default:
			key := jqKey(step)
			if text != "" && strings.HasPrefix(key, ".[") {
				key = key[1:]
			}
			text += key + "?"
		}
	}
	if text == "" {
		return "."
	}
	return text
}

var plainKey = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// jqKey is the filter of one key.
func jqKey(key string) string {
	if plainKey.Get().MatchString(key) {
		return "." + key
	}
	return ".[" + jsonText(key) + "]"
}

// shownPath is a path as people write it.
func shownPath(path []string) string {
	var b strings.Builder
	for _, step := range path {
		if step == "[]" {
			b.WriteString("[]")
			continue
		}
		b.WriteString("." + step)
	}
	if len(path) > 0 && path[0] == "[]" {
		return "." + b.String()
	}
	return b.String()
}

// findKey finds the key that a request means, at whatever depth. If there are several, the one nearest to the top is
// meant, unless two are equally near.
func (c *column) findKey(q *query, ref fieldRef) (problem string) {
	want := pathKeys(ref.name)
	if ref.number != 0 || len(want) == 0 {
		return q.noField(c.layout, ref)
	}
	var found [][]string
	for _, exact := range []bool{true, false} {
		for _, p := range c.json.Paths {
			if endsWith(p, want, exact) {
				found = append(found, p)
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) == 0 {
		return q.noField(c.layout, ref)
	}
	slices.SortStableFunc(found, func(a, b []string) int { return len(a) - len(b) })
	if len(found) > 1 && len(found[0]) == len(found[1]) {
		return q.severalPaths(c.layout, ref, found)
	}
	c.path, c.name = found[0], shownPath(found[0])
	return ""
}

// pathKeys splits a path, without its brackets: .users[].name is users, name.
func pathKeys(s string) (keys []string) {
	for part := range strings.SplitSeq(strings.Trim(s, ". "), ".") {
		name, _, _ := strings.Cut(part, "[")
		if name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// endsWith reports whether the keys of a path end with the wanted ones.
func endsWith(path, want []string, exact bool) bool {
	if len(path) == 0 || path[len(path)-1] == "[]" {
		return false
	}
	var names []string
	for _, step := range path {
		if step != "[]" {
			names = append(names, step)
		}
	}
	if len(names) < len(want) {
		return false
	}
	return slices.EqualFunc(names[len(names)-len(want):], want, func(a, b string) bool {
		if exact {
			return normal(a) == normal(b)
		}
		return singular(normal(a)) == singular(normal(b))
	})
}

// kindAt is the type of the value at a path.
func (j *jsonLayout) kindAt(path []string) string {
	for i, p := range j.Paths {
		if slices.Equal(p, path) && i < len(j.Kinds) {
			return j.Kinds[i]
		}
	}
	return ""
}
