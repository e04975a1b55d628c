package rules

import (
	"slices"
	"strconv"
	"strings"

	"hako/llm"
)

// A result is an answer for programs: the output of a script, or a text, or nothing at all; and a caption for people.
type result struct {
	script, text, about string
}

// result distinguishes an answer from a refusal: only answers begin with the output of a script, or end with a caption
// in parentheses that begins with the file. If the request or a file has such parentheses, a refusal may quote them:
// then only numbers and output count.
func (m *descriptorModel) result(t *conversation, text string) (result, bool) {
	if t.failed != nil {
		return result{}, false
	}
	if r, ok := m.printed(text); ok {
		return r, true
	}
	r, ok := m.worded(text)
	quotable := m.captioned(t.request) ||
		slices.ContainsFunc(m.jobs, func(j *scriptJob) bool { return m.captioned(j.Out) })
	return r, ok && (!quotable || r.script != "" || isNumber(r.text))
}

// worded is for an answer that has captions.
func (m *descriptorModel) worded(text string) (result, bool) {
	lines := strings.Split(text, "\n")
	captions := len(slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return !m.captioned(l) }))
	last := len(lines) - 1
	switch {
	case captions == 0:
		return result{}, false
	case captions > 1 || !m.captioned(lines[last]):
		return result{text: text}, true
	case last == 0:
		return m.value(text), true
	}
	return result{text: strings.TrimSpace(strings.Join(lines[:last], "\n")), about: lines[last]}, true
}

// printed is for the output of a script with a caption below. The script is run again, as the rules may have seen only
// the beginning of its output.
func (m *descriptorModel) printed(text string) (result, bool) {
	for _, j := range slices.Backward(m.jobs) {
		about, ok := strings.CutPrefix(text, block(j.lines()))
		if !ok || strings.Contains(about, "```") || j.Out == "" {
			continue
		}
		if at := m.caption(about); j.Cut {
			about = about[max(at, 0):]
		}
		return result{script: j.script, about: strings.TrimSpace(about)}, true
	}
	return result{}, false
}

func (m *descriptorModel) captioned(line string) bool { return m.caption(line) >= 0 }

// caption is where the parentheses begin; -1 if there are none.
func (m *descriptorModel) caption(line string) int {
	return slices.Max(append([]int{-1}, each(m.files, func(f llm.File) int {
		return max(strings.LastIndex(line, "("+f.Name), strings.LastIndex(line, "（"+f.Name))
	})...))
}

func each[T, U any](list []T, f func(T) U) []U {
	var all []U
	for _, v := range list {
		all = append(all, f(v))
	}
	return all
}

// foundNothing precedes the caption if there are no lines.
var foundNothing = []string{"Nothing found", "見つかりませんでした"}

// value is for an answer in one line: "4 lines (app.log)", "7.5 (sales.csv, …)".
func (m *descriptorModel) value(text string) result {
	before := strings.TrimSpace(text[:m.caption(text)])
	number, unit, _ := strings.Cut(before, " ")
	switch {
	case slices.Contains(foundNothing, before):
		return result{about: text}
	case m.printing(before) != "":
		return result{script: m.printing(before), about: text}
	case !isNumber(number) || strings.ContainsAny(unit, "0123456789"):
		return result{text: text}
	case m.printing(number) != "":
		return result{script: m.printing(number), about: text}
	}
	return result{text: number, about: text}
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// printing is the script that printed just this line; empty if none did.
func (m *descriptorModel) printing(line string) string {
	for _, j := range slices.Backward(m.jobs) {
		if strings.TrimSuffix(j.Out, "\n") == line {
			return j.script
		}
	}
	return ""
}
