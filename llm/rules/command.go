package rules

import (
	"strings"

	"hako/internal/lazyregexp"
)

// commandForm is what a command of the shell looks like.
var commandForm = lazyregexp.New(
	`^\s*(?:wc|grep|egrep|fgrep|head|tail|sort|uniq|cut|cat|sed|awk|jq|tr|nl|tac|rev|column|iconv)\s+(?:[^"']*\s)?(?:-{1,2}[A-Za-z0-9][^\s]*(?:\s|$)|\|\s*[a-z])|^\s*(?:awk|jq|sed)\s+'[^']+'`)

// pass hands a command that was written instead of a question to execute, which
// judges it. The file may be left out if there is only one.
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
	out, ok := t.run(command)
	if !ok {
		return ""
	}
	lines := out.lines()
	if len(lines) == 0 {
		return q.say("The command `%s` printed nothing.", "コマンド `%s` は何も出力しませんでした。", command)
	}
	text := block(lines)
	if out.Cut {
		text += "\n" + q.say("… cut: the first %d of %d bytes are shown", "… 長いため途中までです: 全 %[2]d バイトのうち先頭の %[1]d バイト",
			len(out.Out), int(out.Total))
	}
	return text
}

// garbled reports whether a text is in an encoding that commands do not read.
func garbled(lines []string) bool { return strings.Contains(strings.Join(lines, "\n"), "\uFFFD") }

// unreadable says so of a file that a request needs to be read in Japanese.
func (q *query) unreadable(file string) string {
	return q.say("%s is not in UTF-8 (it may be in Shift_JIS), so I cannot search or read anything but plain ASCII in it. Convert it first: iconv -f SHIFT_JIS -t UTF-8 %[1]s",
		"%s は UTF-8 ではないため（Shift_JIS かもしれません）、日本語の検索や列の読み取りはできません。先に変換してください: iconv -f SHIFT_JIS -t UTF-8 %[1]s", file)
}

// oddLines is the command that shows some lines with more than ASCII.
func oddLines(file string) string {
	return from(file).then("grep", "-m", "3", "[^ -~\t]").String()
}

// checkEncoding finds out whether a file can be searched for what is asked for.
func (t *conversation) checkEncoding(q *query) (problem string, ok bool) {
	files, other := q.sources()
	if other != "" || !q.needsUTF8() || len(files) > mostFiles {
		return "", true
	}
	ok = true
	for _, f := range files {
		out, known, got := t.extra(oddLines(f))
		ok = ok && got
		if known && got && garbled(out.lines()) {
			problem = q.unreadable(f)
		}
	}
	return problem, ok
}

// needsUTF8 reports whether a request speaks of texts or columns beyond ASCII.
func (q *query) needsUTF8() bool {
	if q.some(differ | onlyIn | common | fileList | fileSize | biggest | help) {
		return false
	}
	for _, n := range append(append([]textFilter{}, q.with...), q.but...) {
		if !isASCII(n.text) {
			return true
		}
	}
	return q.some(field|totals|grouped|matching|keys|top|freq) && q.onlyTable() != ""
}
