package text

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
	"hako/shell/command/internal/cli"
)

// A filePatch is the part of a patch that concerns one file.
type filePatch struct {
	old, new, index string // names as written; empty if not given
	oldLine, header string // for rejects and questions
	newLine         string
	kind            byte // 'u', 'c' or 'n'
	at              int  // line of the input where the hunks begin
	creates         bool // according to the old side there was no file
	deletes         bool // according to the new side no file is left
	renameTo        string
	git             bool
	hunks           []*patchHunk
}

// A patchHunk is one place where lines change.
type patchHunk struct {
	oldStart, oldCount, newStart, newCount int
	lines                                  []hunkLine
	tail                                   string // what followed the second @@
}

// A hunkLine is ' ' for context, '-' for a line that is removed, '+' for one that is
// added. The text has its newline, unless the file lacks it there.
type hunkLine struct {
	op   byte
	text []byte
}

// A patchReader parses a patch line by line.
type patchReader struct {
	lines [][]byte // with newlines
	at    int
	part  *filePatch // whose hunks are being read

	malformedIn func(*filePatch) // called before a malformed hunk is reported; may be nil
}

func (r *patchReader) text(i int) string {
	if i < 0 || i >= len(r.lines) {
		return ""
	}
	return strings.TrimRight(string(r.lines[i]), "\r\n")
}

func (r *patchReader) startsWith(i int, prefix string) bool {
	return i < len(r.lines) && bytes.HasPrefix(r.lines[i], []byte(prefix))
}

var normalCommand = lazyregexp.New(`^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$`)

// next finds the next file in the patch and reads its hunks; nil at the end.
func (r *patchReader) next() *filePatch {
	p := &filePatch{}
	start := r.at
	for ; r.at < len(r.lines); r.at++ {
		line := r.text(r.at)
		switch {
		case r.startsWith(r.at, "diff --git "):
			if p.withoutHunks() {
				return p
			}
			if p.git {
				p = &filePatch{}
			}
			p.git = true
			if words := strings.Fields(line[len("diff --git "):]); len(words) == 2 {
				p.old, p.new = words[0], words[1]
			}
		case r.startsWith(r.at, "Index: "):
			p.index = strings.TrimSpace(line[7:])
		case p.git && p.gitHeader(line):
		case r.startsWith(r.at, "GIT binary patch"):
			fail(2, "git binary diffs are not supported.")
		case r.startsWith(r.at, "--- ") && r.startsWith(r.at+1, "+++ ") && r.startsWith(r.at+2, "@@ -"):
			r.names(p)
			return r.hunksOf(p, 'u', start)
		case r.startsWith(r.at, "*** ") && r.startsWith(r.at+1, "--- ") && r.startsWith(r.at+2, "***************"):
			r.names(p)
			return r.hunksOf(p, 'c', start)
		case r.startsWith(r.at, "@@ -"):
			return r.hunksOf(p, 'u', start)
		case normalCommand.Get().MatchString(line):
			return r.hunksOf(p, 'n', start)
		}
	}
	if p.withoutHunks() {
		return p
	}
	return nil
}

// withoutHunks reports whether git's header alone describes a change: a rename, or an
// empty file that is created or deleted.
func (p *filePatch) withoutHunks() bool {
	return p.git && (p.renameTo != "" || p.creates || p.deletes)
}

// gitHeader reads a line that git writes before the hunks.
func (p *filePatch) gitHeader(line string) bool {
	for _, prefix := range []string{"new file mode ", "deleted file mode ", "rename to ", "rename from ", "index ",
		"similarity index "} {
		rest, ok := strings.CutPrefix(line, prefix)
		if !ok {
			continue
		}
		p.creates = p.creates || prefix == "new file mode "
		p.deletes = p.deletes || prefix == "deleted file mode "
		if prefix == "rename to " {
			p.renameTo = rest
		}
		return true
	}
	return false
}

// names reads the two header lines.
func (r *patchReader) names(p *filePatch) {
	p.oldLine, p.newLine = r.text(r.at), r.text(r.at+1)
	var gone [2]bool
	p.old, gone[0] = headerName(p.oldLine[4:])
	p.new, gone[1] = headerName(p.newLine[4:])
	p.creates, p.deletes = p.creates || gone[0], p.deletes || gone[1]
	r.at += 2
}

// headerName removes the time from a header. A file of 1970 does not exist.
func headerName(s string) (name string, missing bool) {
	name, stamp, timed := strings.Cut(s, "\t")
	name = strings.TrimSpace(name)
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	return name, name == "/dev/null" || timed && strings.HasPrefix(stamp, "1970-01-01 00:00:00")
}

// hunksOf reads all hunks that follow.
func (r *patchReader) hunksOf(p *filePatch, kind byte, start int) *filePatch {
	r.part, p.kind, p.at = p, kind, r.at+1
	for i := start; i < r.at; i++ {
		p.header += "|" + r.text(i) + "\n"
	}
	read := map[byte]func() *patchHunk{'u': r.unifiedHunk, 'c': r.contextHunk, 'n': r.normalHunk}[kind]
	for h := read(); h != nil; h = read() {
		p.hunks = append(p.hunks, h)
	}
	return p
}

// malformed aborts because of line i.
func (r *patchReader) malformed(i int) { r.malformedText(i+1, r.text(i)) }

func (r *patchReader) malformedText(line int, text string) {
	if r.malformedIn != nil {
		r.malformedIn(r.part)
	}
	fail(2, "malformed patch at line %d: %s\n", line, text)
}

var unifiedHeader = lazyregexp.New(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(.*)$`)

// maxLineNumber keeps line numbers in a patch from overflowing anything.
const maxLineNumber = 1 << 40

func number(s string, none int) int {
	if s == "" {
		return none
	}
	n, err := strconv.Atoi(s)
	if err != nil || n > maxLineNumber {
		return maxLineNumber
	}
	return n
}

func (r *patchReader) unifiedHunk() *patchHunk {
	m := unifiedHeader.Get().FindStringSubmatch(r.text(r.at))
	if m == nil {
		if r.startsWith(r.at, "@@ -") {
			r.malformed(r.at)
		}
		return nil
	}
	h := &patchHunk{oldStart: number(m[1], 0), oldCount: number(m[2], 1), newStart: number(m[3], 0),
		newCount: number(m[4], 1), tail: m[5]}
	r.at++
	for oldLeft, newLeft := h.oldCount, h.newCount; oldLeft > 0 || newLeft > 0; r.at++ {
		if r.at >= len(r.lines) {
			r.malformedText(r.at, " ")
		}
		line := r.lines[r.at]
		switch line[0] {
		case '\n', '\r':
			line = append([]byte{' '}, line...) // an editor removed the blank
		case ' ', '-', '+':
		case '\\':
			h.dropNewline()
			continue
		default:
			r.malformed(r.at)
		}
		oldLeft -= cli.BoolInt(line[0] != '+')
		newLeft -= cli.BoolInt(line[0] != '-')
		if oldLeft < 0 || newLeft < 0 {
			r.malformed(r.at)
		}
		h.lines = append(h.lines, hunkLine{line[0], line[1:]})
	}
	r.noNewline(h)
	return h
}

// noNewline reads the remark about a missing newline that may follow a hunk.
func (r *patchReader) noNewline(h *patchHunk) {
	if strings.HasPrefix(r.text(r.at), `\ `) {
		h.dropNewline()
		r.at++
	}
}

// dropNewline removes the newline of the last line.
func (h *patchHunk) dropNewline() {
	if n := len(h.lines); n > 0 {
		h.lines[n-1].text = bytes.TrimSuffix(h.lines[n-1].text, []byte("\n"))
	}
}

func (r *patchReader) normalHunk() *patchHunk {
	m := normalCommand.Get().FindStringSubmatch(r.text(r.at))
	if m == nil {
		return nil
	}
	from, to := number(m[1], 0), number(m[2], number(m[1], 0))
	newFrom, newTo := number(m[4], 0), number(m[5], number(m[4], 0))
	h := &patchHunk{oldStart: from, oldCount: to - from + 1, newStart: newFrom, newCount: newTo - newFrom + 1}
	switch m[3] {
	case "a":
		h.oldCount = 0
	case "d":
		h.newCount = 0
	}
	r.at++
	r.marked(h, h.oldCount, '<', '-')
	if m[3] == "c" {
		if r.text(r.at) != "---" {
			r.malformed(r.at)
		}
		r.at++
	}
	r.marked(h, h.newCount, '>', '+')
	return h
}

// marked reads n lines that begin with mark and a blank.
func (r *patchReader) marked(h *patchHunk, n int, mark, op byte) {
	for range n {
		if r.at >= len(r.lines) || len(r.lines[r.at]) < 2 || r.lines[r.at][0] != mark {
			r.malformed(r.at)
		}
		h.lines = append(h.lines, hunkLine{op, r.lines[r.at][2:]})
		r.at++
	}
	if n > 0 {
		r.noNewline(h)
	}
}

var contextRange = lazyregexp.New(`^(?:\*\*\*|---) (\d+)(?:,(\d+))? (?:\*\*\*\*|----)`)

// contextHunk reads both halves and merges them.
func (r *patchReader) contextHunk() *patchHunk {
	if !r.startsWith(r.at, "***************") {
		return nil
	}
	r.at++
	var starts, counts [2]int
	var halves [2][]hunkLine
	for i := range halves {
		m := contextRange.Get().FindStringSubmatch(r.text(r.at))
		if m == nil {
			r.malformed(r.at)
		}
		starts[i] = number(m[1], 0)
		if counts[i] = number(m[2], starts[i]) - starts[i] + 1; starts[i] == 0 {
			counts[i] = 0
		}
		r.at++
		halves[i] = r.half(counts[i])
	}
	h := &patchHunk{oldStart: starts[0], oldCount: counts[0], newStart: starts[1], newCount: counts[1]}
	h.lines = mergeHalves(halves[0], halves[1])
	if len(h.side('-')) != h.oldCount || len(h.side('+')) != h.newCount {
		r.malformed(r.at - 1)
	}
	return h
}

// half reads at most n lines of one half. A half without changes is omitted.
func (r *patchReader) half(n int) []hunkLine {
	h := patchHunk{}
	for ; r.at < len(r.lines) && len(h.lines) < n; r.at++ {
		line := r.lines[r.at]
		if len(line) >= 2 && line[1] == ' ' && strings.IndexByte(" -+!", line[0]) >= 0 &&
			contextRange.Get().FindString(string(line)) == "" {
			h.lines = append(h.lines, hunkLine{line[0], line[2:]})
		} else if line[0] == '\n' {
			h.lines = append(h.lines, hunkLine{' ', line})
		} else {
			break
		}
	}
	r.noNewline(&h)
	return h.lines
}

func mergeHalves(old, new []hunkLine) []hunkLine {
	if len(old) == 0 {
		old = contextOf(new)
	}
	if len(new) == 0 {
		new = contextOf(old)
	}
	var out []hunkLine
	for len(old) > 0 || len(new) > 0 {
		switch {
		case len(old) > 0 && old[0].op != ' ':
			out = append(out, hunkLine{'-', old[0].text})
			old = old[1:]
		case len(new) > 0 && new[0].op != ' ':
			out = append(out, hunkLine{'+', new[0].text})
			new = new[1:]
		case len(old) > 0:
			out = append(out, hunkLine{' ', old[0].text})
			old, new = old[1:], new[min(1, len(new)):]
		default:
			out = append(out, hunkLine{' ', new[0].text})
			new = new[1:]
		}
	}
	return out
}

func contextOf(lines []hunkLine) []hunkLine {
	return slices.DeleteFunc(slices.Clone(lines), func(l hunkLine) bool { return l.op != ' ' })
}

// side returns the lines before ('-') or after ('+') the change.
func (h *patchHunk) side(op byte) [][]byte {
	var out [][]byte
	for _, l := range h.lines {
		if l.op == ' ' || l.op == op {
			out = append(out, l.text)
		}
	}
	return out
}

// reversed returns the hunk that undoes this one. In each change the removed lines stand
// before the added ones.
func (h *patchHunk) reversed() *patchHunk {
	r := &patchHunk{oldStart: h.newStart, oldCount: h.newCount, newStart: h.oldStart, newCount: h.oldCount, tail: h.tail}
	for _, l := range h.lines {
		r.lines = append(r.lines, hunkLine{map[byte]byte{' ': ' ', '-': '+', '+': '-'}[l.op], l.text})
		for j := len(r.lines) - 1; j > 0 && r.lines[j].op == '-' && r.lines[j-1].op == '+'; j-- {
			r.lines[j], r.lines[j-1] = r.lines[j-1], r.lines[j]
		}
	}
	return r
}

// reverse makes the patch undo its changes.
func (p *filePatch) reverse() {
	p.creates, p.deletes = p.deletes, p.creates
	p.hunks = reversedAll(p.hunks)
	if p.oldLine != "" {
		p.oldLine, p.newLine = p.oldLine[:4]+p.newLine[4:], p.newLine[:4]+p.oldLine[4:]
	}
}

func reversedAll(hunks []*patchHunk) []*patchHunk {
	out := make([]*patchHunk, len(hunks))
	for i, h := range hunks {
		out[i] = h.reversed()
	}
	return out
}
