package rules

import (
	"cmp"
	_ "embed"
	"strings"

	"hako/internal/lazyregexp"
	"hako/internal/text"
)

//go:embed ability_en.txt
var abilityEn string

//go:embed ability_ja.txt
var abilityJa string

// ability describes this model.
func (q *query) ability() string {
	if q.lang == ja {
		return strings.TrimSuffix(abilityJa, "\n")
	}
	return strings.TrimSuffix(abilityEn, "\n")
}

// unknown answers a request that is not understood at all.
func (q *query) unknown() string {
	return q.say("I did not understand this request. ") + q.ability()
}

// partly answers a request of which only a part was understood: the rest could change what is meant, so there is no
// answer.
func (q *query) partly(parts ...string) string {
	for i, p := range parts {
		parts[i] = q.quoted(strings.TrimSpace(p))
	}
	text := q.say("I understood this request only in part: not %s. So I do not answer rather than give a wrong result.", q.listed(parts))
	return text + "\n\n" + q.say("If it is a text to look for, put it in quotes: lines containing \"…\".") + "\n\n" + q.ability()
}

// twoThings answers a request that asks for more than one thing.
func (q *query) twoThings() string {
	return q.say("I can answer only one question at a time; please ask for one thing first. ") + "\n\n" + q.ability()
}

// notGranted answers a request for a file that cannot be read.
func (q *query) notGranted() string {
	names := q.listed(q.missing)
	text := q.say("%[1]s was not granted, so I cannot read it. Grant it with --file %[2]s.", names, q.missing[0])
	if len(q.files) > 0 {
		text += q.say(" Granted: %s.", q.listed(grantedNames(q.files)))
	}
	return text
}

// noFiles answers a request about files when there are none.
func (q *query) noFiles() string {
	return q.say("No file was granted, so there is nothing to read. Grant one with --file NAME.")
}

// whichFile asks which of several files is meant.
func (q *query) whichFile() string {
	return q.say("Which file do you mean? Granted are: %s. Name one in the request, or say \"all files\".", q.listed(grantedNames(q.files)))
}

// noTool answers a request that needs a command where none can be run.
func (q *query) noTool() string {
	return q.say("I would have to read files for this, but the tool execute is not available here. Use hako run --file NAME \"…\".")
}

// stuck answers when no further call is allowed.
func (t *conversation) stuck(q *query, command string) string {
	if !t.offered(executeTool) {
		return q.noTool()
	}
	text := q.say("I could not finish: no further call is allowed. The next command would have been %s; allow more turns with --turns.", "`"+command+"`")
	for _, it := range t.d.Items {
		if out, ok := readOutput(it.Text); ok && it.Name == executeTool && it.CallID != "" &&
			strings.TrimSpace(out.Out) != "" {
			text += "\n\n" + q.say("What I have so far:") + "\n\n" + block(out.lines())
			break
		}
	}
	return text
}

// failure is the answer after a failed command.
func (t *conversation) failure(q *query) string {
	o := t.failed
	if e := o.Error; e != nil && e.Kind == "timeout" {
		text := q.say("This took too long: %s.", strings.TrimSuffix(e.Reason, "."))
		return text + q.say(" Ask for less, or allow more time: --limit time=30s.")
	}
	if e := o.Error; e != nil {
		text := q.say("The command `%s` was not carried out: %s.", shortened(o.command),
			strings.TrimSuffix(e.Reason, "."))
		if e.Hint != "" {
			text += q.say(" Hint: %s.", strings.TrimSuffix(e.Hint, "."))
		}
		return text
	}
	why := text.Shorten(cmp.Or(strings.TrimSpace(o.Err), strings.TrimSpace(o.raw)), 500)
	if m := tooLarge.Get().FindStringSubmatch(why); m != nil {
		return q.say("I could not read the file: it has %s %s, the limit file_size is %s. Raise it: --limit file_size=%[1]s%[2]s", m[1], m[2], m[3])
	}
	return q.say("The command `%s` did not work:", shortened(o.command)) + "\n\n" +
		block(strings.Split(why, "\n"))
}

// tooLarge matches the error for a file over the size limit.
var tooLarge = lazyregexp.New(`it has ([0-9.]+) ?([KMGT]?B), the limit file_size is ([0-9.]+ ?[KMGT]?B)`)

// noField says that a file has no such column or key, and which it has.
func (q *query) noField(l *layout, ref fieldRef) string {
	name := ref.name
	if ref.number != 0 {
		return q.noColumns(l)
	}
	have := l.fieldNames()
	text := q.say("%[2]s has no column or key %[1]s.", q.quoted(name), l.file)
	if l.json != nil {
		text = q.say("%[2]s has no column or key %[1]s in the records that I looked at.",
			q.quoted(name), l.file)
	}
	if l.json != nil && l.json.More {
		return text + q.say(" There are more keys than I can look at.")
	}
	if len(have) > 0 {
		text += q.say(" It has: %s.", q.listed(have))
	}
	if ref.guess {
		text += " " + q.say("If you mean a text to look for, put it in quotes.")
	}
	return text
}

func (q *query) noColumns(l *layout) string {
	return q.say("%s has no columns that I can tell apart.", l.file)
}

func (q *query) severalPaths(l *layout, ref fieldRef, found [][]string) string {
	var names []string
	for _, p := range found {
		names = append(names, shownPath(p))
	}
	return q.say("%s could mean several keys of %s: %s. Please write the whole path.", q.quoted(ref.name), l.file, q.listed(names))
}

// fieldNames lists what a file can be asked for.
func (l *layout) fieldNames() (list []string) {
	if l.json == nil {
		return l.header
	}
	for _, p := range l.json.Paths {
		if len(p) > 0 && p[len(p)-1] != "[]" {
			list = append(list, shownPath(p))
		}
	}
	return list
}

// shortened shows enough of a command to know which one is meant.
func shortened(command string) string { return text.Shorten(command, 100) }
