package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"hako/run/fault"
)

// rcTables are the names whose values are objects, which only the JSON form has.
var rcTables = []string{"prompt_presets", "quota_weights", "model_quota_weights", "model_system_prompts", "quota_usage"}

func rcNames() []string {
	var names []string
	for _, k := range rcKeys() {
		names = append(names, k.name)
	}
	return append(names, rcTables...)
}

// lines reads the form with one name=value per line.
func (r *rcReader) lines(text string) error {
	seen := make(map[string]string)
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if err := r.line(line, fmt.Sprintf("%s:%d", r.path, n), seen); err != nil {
			return err
		}
	}
	return nil
}

// line reads one line. A repeated line is ignored; two values for one name are an error.
func (r *rcReader) line(line, where string, seen map[string]string) error {
	refuse := func(why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: "read settings", Subject: where, Why: why, Hint: hint}
	}
	name, value, ok := strings.Cut(line, "=")
	name = strings.TrimSpace(name)
	k, known := findRC(name)
	switch {
	case !ok:
		return refuse("it is not name=value",
			"write model=gpt-4o-mini, or all of the file in JSON; the form of hako.yaml needs a name that ends in .yaml")
	case strings.HasPrefix(name, "export "):
		return refuse("this is not a shell script", "write it without export")
	case slices.Contains(rcTables, name):
		return refuse(name+" can only be set in the JSON form", `write the whole file as {"model": "gpt-4o-mini", …}`)
	case !known:
		return unknownRC(name, where, rcNames())
	}
	value, why := lineValue(strings.TrimSpace(value), k.to == string(LlmcmdSystemPrompt))
	if why != "" {
		return refuse(name+": "+why, "")
	}
	if before, twice := seen[name]; twice && before != value {
		return refuse(name+" is set twice", "")
	}
	seen[name] = value
	return r.scalar(k, value, where)
}

// lineValue removes quotes and a comment from a value, or returns why it cannot. A sentence may contain a # that does
// not begin a comment.
func lineValue(word string, sentence bool) (value, why string) {
	if word != "" && (word[0] == '"' || word[0] == '\'') {
		return quoted(word)
	}
	at := comment(word)
	if at < 0 {
		return word, ""
	}
	if value = strings.TrimSpace(word[:at]); sentence && value != "" {
		return "", "it has a # in it; put quotes around all of it"
	}
	return value, ""
}

// comment returns where a comment begins: at a # at the start or after white space; -1 means nowhere.
func comment(word string) int {
	for i := range len(word) {
		if word[i] == '#' && (i == 0 || word[i-1] == ' ' || word[i-1] == '\t') {
			return i
		}
	}
	return -1
}

// quoted reads a quoted value: up to the next quote if only a comment follows, else up to the last.
func quoted(word string) (value, why string) {
	mark := word[:1]
	inner, rest, closed := strings.Cut(word[1:], mark)
	rest = strings.TrimSpace(rest)
	switch {
	case !closed:
		return "", "the quotes are not closed"
	case rest == "" || rest[0] == '#':
		return inner, ""
	case strings.HasSuffix(rest, mark):
		return word[1 : len(word)-1], ""
	}
	return "", "there is something after the quotes"
}

// json reads the JSON form.
func (r *rcReader) json(text []byte) error {
	j := rcJSON{jsonReader: newJSONReader(r.path, text), rcReader: r}
	return j.object(`{"model": "gpt-4o-mini"}`, j.entry)
}

// An rcJSON reads the JSON form.
type rcJSON struct {
	*jsonReader
	*rcReader
}

func (r *rcJSON) entry(name string) error {
	switch name {
	case "prompt_presets":
		return r.presets(name)
	case "quota_weights":
		return r.weights(name, func(field, word string) error {
			return r.config.putWord("quota.weights."+field, word,
				r.here())
		})
	case "model_quota_weights":
		return r.modelWeights(name)
	case "model_system_prompts":
		return r.prompts(name)
	case "quota_usage":
		r.config.notes = append(r.config.notes,
			r.where()+": quota_usage is not read; hako counts for itself, see hako quota show")
		var skipped json.RawMessage
		if r.d.Decode(&skipped) != nil {
			return r.refuse("it is not JSON", "")
		}
		return nil
	}
	k, known := findRC(name)
	if !known {
		return unknownRC(name, r.where(), rcNames())
	}
	value, err := r.value(name, k.kind)
	if err != nil {
		return err
	}
	return r.scalar(k, value, r.where())
}

// here returns a setting with the current line as its origin.
func (r *rcJSON) here() setting {
	s := r.base
	s.from = r.where()
	return s
}

// value reads a value of a kind; null means empty.
func (r *rcJSON) value(name string, kind rcKind) (string, error) {
	t, err := r.token()
	if err != nil {
		return "", err
	}
	switch v := t.(type) {
	case nil:
		return "", nil
	case string:
		if kind == rcText {
			return v, nil
		}
	case json.Number:
		if kind == rcNumber {
			return v.String(), nil
		}
	case bool:
		if kind == rcBool {
			return fmt.Sprint(v), nil
		}
	}
	return "", r.refuse(name+" must be "+string(kind), "")
}

// inner reads a nested object; null means an empty one.
func (r *rcJSON) inner(what string, each func(name string) error) error {
	t, err := r.token()
	if err != nil || t == nil {
		return err
	}
	return r.members(t, what, "", each)
}

// fields reads an object with the given names only.
func (r *rcJSON) fields(what string, kind rcKind, known []string, take func(name, value string) error) error {
	return r.inner(what, func(name string) error {
		if !slices.Contains(known, name) {
			return unknownRC(name, r.where(), known)
		}
		value, err := r.value(name, kind)
		if err != nil || value == "" {
			return err
		}
		return take(name, value)
	})
}

// rows reads an object whose names the user chooses into one of our tables. A row without fields is skipped.
func (r *rcJSON) rows(what, table string, each func(name string) (map[string]string, error)) error {
	var rows []row
	err := r.inner(what, func(name string) error {
		fields, err := each(name)
		if fields != nil {
			rows = append(rows, row{name, fields})
		}
		return err
	})
	if err != nil || rows == nil {
		return err
	}
	s := r.here()
	s.rows = rows
	k, err := r.config.find(table, s.from)
	if err != nil {
		return err
	}
	return r.config.put(k, s)
}

func (r *rcJSON) presets(what string) error {
	ours := map[string]string{"description": "about", "content": "text"}
	return r.rows(what, string(LlmcmdPresets), func(preset string) (map[string]string, error) {
		fields := make(map[string]string)
		err := r.fields(preset, rcText, []string{"key", "description", "content"}, func(name, value string) error {
			if name != "key" {
				fields[ours[name]] = value
			} else if value != preset {
				r.config.notes = append(r.config.notes, fmt.Sprintf("%s: the preset is called %q; its key is not read", r.where(),
					preset))
			}
			return nil
		})
		return fields, err
	})
}

// weights reads one set of weights and converts the names.
func (r *rcJSON) weights(what string, take func(field, word string) error) error {
	ours := map[string]string{"input_weight": "input", "input_cached_weight": "cached", "output_weight": "output"}
	return r.fields(what, rcNumber, []string{"input_weight", "input_cached_weight", "output_weight"},
		func(name, value string) error {
			return take(ours[name], value)
		})
}

func (r *rcJSON) modelWeights(what string) error {
	return r.rows(what, string(weightsByModel), func(model string) (map[string]string, error) {
		fields := make(map[string]string)
		err := r.weights(model, func(field, word string) error {
			fields[field] = word
			return nil
		})
		return fields, err
	})
}

func (r *rcJSON) prompts(what string) error {
	return r.rows(what, string(LlmcmdSystemPrompts), func(model string) (map[string]string, error) {
		value, err := r.value(model, rcText)
		if value == "" {
			return nil, err
		}
		return map[string]string{"text": value}, err
	})
}
