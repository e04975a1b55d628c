package rules

import (
	"slices"
	"strings"

	"hako/internal/lazyregexp"
)

// commandForm matches a command of the shell.
var commandForm = lazyregexp.New(
	`^\s*(?:wc|grep|egrep|fgrep|head|tail|sort|uniq|cut|cat|sed|awk|jq|tr|nl|tac|rev|column|iconv)\s+(?:[^"']*\s)?(?:-{1,2}[A-Za-z0-9][^\s]*(?:\s|$)|\|\s*[a-z])|^\s*(?:awk|jq|sed)\s+'[^']+'`)

// pass passes a command that was written instead of a question to execute, which checks it. The file may be left out if
// there is only one.
func (t *conversation) pass(q *query) string {
	command := strings.TrimSpace(q.request)
	if len(q.named) == 0 {
		if len(q.files) != 1 {
			return q.whichFile()
		}
		first, rest, piped := strings.Cut(command, "|")
		command = strings.TrimSpace(first) + " " + quote(operand(q.files[0].Name))
		if piped {
			command += " |" + rest
		}
	}
	out, ok := t.result(command)
	if !ok {
		panic(stop{})
	}
	lines := out.lines()
	if len(lines) == 0 {
		return q.say("The command `%s` printed nothing.", command)
	}
	text := block(lines)
	if out.Cut {
		text += "\n" + q.say("… cut: the first %d of %d bytes are shown",
			len(out.Out), int(out.Total))
	}
	return text
}

// garbled reports whether a text is in an encoding that commands do not read.
func garbled(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), "\uFFFD") }

// unreadable says so of a file that a request needs to be read in Japanese.
func (q *query) unreadable(file string) string {
	return q.say("%s is not in UTF-8 (it may be in Shift_JIS), so I cannot search or read anything but plain ASCII in it. Convert it first: iconv -f SHIFT_JIS -t UTF-8 %[1]s", file)
}

// oddLines is the command that shows some lines with more than ASCII.
func oddLines(file string) pipe { return from(file).then("grep", "-m", "3", "[^ -~\t]") }

// checkEncoding stops if a file cannot be searched for what is asked for.
func (t *conversation) checkEncoding(q *query) {
	files, question := q.findSources()
	if question != "" || !q.needsUTF8() || len(files) > maxFiles {
		return
	}
	problem := ""
	for _, f := range files {
		if out, known := t.extra(oddLines(f)); known && garbled(out.lines()) {
			problem = q.unreadable(f)
		}
	}
	t.await()
	if problem != "" {
		stopWith(problem)
	}
}

// needsUTF8 reports whether a request speaks of texts or columns beyond ASCII.
func (q *query) needsUTF8() bool {
	if q.some(differ | onlyIn | common | fileList | fileSize | biggest | help) {
		return false
	}
	return slices.ContainsFunc(slices.Concat(q.with, q.without), func(n textFilter) bool { return !isASCII(n.text) }) ||
		q.some(field|totals|grouped|matching|keys|top|freq) && q.onlyTable() != ""
}
