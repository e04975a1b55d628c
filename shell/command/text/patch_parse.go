package text

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"hako/internal/lazyregexp"
)

// A filePatch is the part of a patch that concerns one file.
type filePatch struct {
	old, new, index string // names as written; empty if not given
	oldLine, header string // for rejects and questions
	newLine         string
	kind            byte // 'u', 'c' or 'n'
	at              int  // line of the input where the hunks begin
	creates         bool // the old side says that there was no file
	deletes         bool // the new side says that there is none left
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

// A hunkLine is ' ' for context, '-' for a line that goes, '+' for one that comes.
// The text has its newline, unless the file lacks it there.
type hunkLine struct {
	op   byte
	text []byte
}

// A patchReader takes a patch apart line by line.
type patchReader struct {
	lines [][]byte // with newlines
	at    int
}

// errPatch is an error in the patch itself: status 2.
type errPatch string

func (e errPatch) Error() string { return string(e) }

func (r *patchReader) text(i int) string {
	if i < 0 || i >= len(r.lines) {
		return ""
	}
	return strings.TrimRight(string(r.lines[i]), "\r\n")
}

var normalCommand = lazyregexp.New(`^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$`)

// next finds the next file in the patch and reads its hunks; nil at the end.
func (r *patchReader) next() (*filePatch, error) {
	p := &filePatch{}
	start := r.at
	for ; r.at < len(r.lines); r.at++ {
		line := r.text(r.at)
		switch {
		case strings.HasPrefix(line, "diff --git ") && p.git:
			if p.renameTo != "" || p.creates || p.deletes {
				return p, nil // nothing but a rename, or an empty file
			}
			p = &filePatch{}
			r.gitNames(p, line)
		case strings.HasPrefix(line, "diff --git "):
			r.gitNames(p, line)
		case strings.HasPrefix(line, "Index: "):
			p.index = strings.TrimSpace(line[7:])
		case p.git && r.gitHeader(p, line):
		case strings.HasPrefix(line, "GIT binary patch"):
			return nil, errPatch("git binary diffs are not supported.")
		case strings.HasPrefix(line, "--- ") && strings.HasPrefix(r.text(r.at+1), "+++ ") &&
			strings.HasPrefix(r.text(r.at+2), "@@ -"):
			r.names(p, 4)
			return r.hunksOf(p, 'u', start)
		case strings.HasPrefix(line, "*** ") && strings.HasPrefix(r.text(r.at+1), "--- ") &&
			strings.HasPrefix(r.text(r.at+2), "***************"):
			r.names(p, 4)
			return r.hunksOf(p, 'c', start)
		case strings.HasPrefix(line, "@@ -"):
			return r.hunksOf(p, 'u', start)
		case normalCommand.Get().MatchString(line):
			return r.hunksOf(p, 'n', start)
		}
	}
	if p.renameTo != "" || p.git && (p.creates || p.deletes) {
		return p, nil
	}
	return nil, nil
}

func (r *patchReader) gitNames(p *filePatch, line string) {
	p.git = true
	words := strings.Fields(strings.TrimPrefix(line, "diff --git "))
	if len(words) == 2 {
		p.old, p.new = words[0], words[1]
	}
}

// gitHeader reads the lines git puts before the hunks.
func (r *patchReader) gitHeader(p *filePatch, line string) bool {
	for prefix, set := range map[string]func(string){
		"new file mode ":     func(string) { p.creates = true },
		"deleted file mode ": func(string) { p.deletes = true },
		"rename to ":         func(name string) { p.renameTo = name },
		"rename from ":       func(string) {},
		"index ":             func(string) {},
		"similarity index ":  func(string) {},
	} {
		if rest, ok := strings.CutPrefix(line, prefix); ok {
			set(rest)
			return true
		}
	}
	return false
}

// names reads the two header lines and passes over them.
func (r *patchReader) names(p *filePatch, skip int) {
	p.oldLine, p.newLine = r.text(r.at), r.text(r.at+1)
	var gone [2]bool
	p.old, gone[0] = headerName(p.oldLine[skip:])
	p.new, gone[1] = headerName(p.newLine[skip:])
	p.creates, p.deletes = p.creates || gone[0], p.deletes || gone[1]
	r.at += 2
}

// headerName takes the time off a header; a file of 1970 does not exist.
func headerName(s string) (name string, missing bool) {
	name, stamp, timed := strings.Cut(s, "\t")
	name = strings.TrimSpace(name)
	if unquoted, err := strconv.Unquote(name); err == nil {
		name = unquoted
	}
	return name, name == "/dev/null" || timed && strings.HasPrefix(stamp, "1970-01-01 00:00:00")
}

// hunksOf reads all hunks that follow.
func (r *patchReader) hunksOf(p *filePatch, kind byte, start int) (*filePatch, error) {
	p.kind, p.at = kind, r.at+1
	for i := start; i < r.at; i++ {
		p.header += "|" + r.text(i) + "\n"
	}
	read := map[byte]func() (*patchHunk, error){'u': r.unifiedHunk, 'c': r.contextHunk, 'n': r.normalHunk}[kind]
	for {
		h, err := read()
		if err != nil {
			return p, err
		}
		if h == nil {
			return p, nil
		}
		p.hunks = append(p.hunks, h)
	}
}

func (r *patchReader) malformed(i int) error {
	return errPatch(fmt.Sprintf("malformed patch at line %d: %s\n", i+1, r.text(i)))
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

func (r *patchReader) unifiedHunk() (*patchHunk, error) {
	m := unifiedHeader.Get().FindStringSubmatch(r.text(r.at))
	if m == nil {
		if strings.HasPrefix(r.text(r.at), "@@ -") {
			return nil, r.malformed(r.at)
		}
		return nil, nil
	}
	h := &patchHunk{oldStart: number(m[1], 0), oldCount: number(m[2], 1), newStart: number(m[3], 0),
		newCount: number(m[4], 1), tail: m[5]}
	r.at++
	for oldLeft, newLeft := h.oldCount, h.newCount; oldLeft > 0 || newLeft > 0; r.at++ {
		if r.at >= len(r.lines) {
			return nil, errPatch(fmt.Sprintf("malformed patch at line %d:  \n", r.at))
		}
		line := r.lines[r.at]
		op := line[0]
		switch op {
		case '\n', '\r':
			line, op = append([]byte{' '}, line...), ' ' // an editor took the blank away
			fallthrough
		case ' ':
			oldLeft, newLeft = oldLeft-1, newLeft-1
		case '-':
			oldLeft--
		case '+':
			newLeft--
		case '\\':
			h.dropNewline()
			continue
		default:
			return nil, r.malformed(r.at)
		}
		if oldLeft < 0 || newLeft < 0 {
			return nil, r.malformed(r.at)
		}
		h.lines = append(h.lines, hunkLine{op, line[1:]})
	}
	r.noNewline(h)
	return h, nil
}

// noNewline reads the remark that may follow a hunk.
func (r *patchReader) noNewline(h *patchHunk) {
	if strings.HasPrefix(r.text(r.at), `\ `) {
		h.dropNewline()
		r.at++
	}
}

// dropNewline takes the newline off the last line read.
func (h *patchHunk) dropNewline() {
	if n := len(h.lines); n > 0 {
		h.lines[n-1].text = bytes.TrimSuffix(h.lines[n-1].text, []byte("\n"))
	}
}

func (r *patchReader) normalHunk() (*patchHunk, error) {
	m := normalCommand.Get().FindStringSubmatch(r.text(r.at))
	if m == nil {
		return nil, nil
	}
	from, to := number(m[1], 0), number(m[2], number(m[1], 0))
	newFrom, newTo := number(m[4], 0), number(m[5], number(m[4], 0))
	h := &patchHunk{oldStart: from, oldCount: to - from + 1, newStart: newFrom, newCount: newTo - newFrom + 1}
	if m[3] == "a" {
		h.oldCount = 0
	}
	if m[3] == "d" {
		h.newCount = 0
	}
	r.at++
	if err := r.marked(h, h.oldCount, '<', '-'); err != nil {
		return nil, err
	}
	if m[3] == "c" {
		if r.text(r.at) != "---" {
			return nil, r.malformed(r.at)
		}
		r.at++
	}
	return h, r.marked(h, h.newCount, '>', '+')
}

// marked reads n lines that begin with mark and a blank.
func (r *patchReader) marked(h *patchHunk, n int, mark, op byte) error {
	for range n {
		if r.at >= len(r.lines) || len(r.lines[r.at]) < 2 || r.lines[r.at][0] != mark {
			return r.malformed(r.at)
		}
		h.lines = append(h.lines, hunkLine{op, r.lines[r.at][2:]})
		r.at++
	}
	if n > 0 {
		r.noNewline(h)
	}
	return nil
}

var contextRange = lazyregexp.New(`^(?:\*\*\*|---) (\d+)(?:,(\d+))? (?:\*\*\*\*|----)`)

// contextHunk reads both halves and merges them.
func (r *patchReader) contextHunk() (*patchHunk, error) {
	if !strings.HasPrefix(r.text(r.at), "***************") {
		return nil, nil
	}
	r.at++
	var starts, counts [2]int
	var halves [2][]hunkLine
	for i := range halves {
		m := contextRange.Get().FindStringSubmatch(r.text(r.at))
		if m == nil {
			return nil, r.malformed(r.at)
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
	return h, h.check(r)
}

// half reads at most n lines of one half; an unchanged half is left out.
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
	var out []hunkLine
	for _, l := range lines {
		if l.op == ' ' {
			out = append(out, l)
		}
	}
	return out
}

// check compares the lines read with the counts in the header.
func (h *patchHunk) check(r *patchReader) error {
	old, new := h.side('-'), h.side('+')
	if len(old) != h.oldCount || len(new) != h.newCount {
		return r.malformed(r.at - 1)
	}
	return nil
}

// side is the text before ('-') or after ('+') the change.
func (h *patchHunk) side(op byte) [][]byte {
	var out [][]byte
	for _, l := range h.lines {
		if l.op == ' ' || l.op == op {
			out = append(out, l.text)
		}
	}
	return out
}

// reversed is the hunk that undoes this one.
func (h *patchHunk) reversed() *patchHunk {
	r := &patchHunk{oldStart: h.newStart, oldCount: h.newCount, newStart: h.oldStart, newCount: h.oldCount, tail: h.tail}
	for i := 0; i < len(h.lines); {
		j := i
		for j < len(h.lines) && h.lines[j].op == h.lines[i].op {
			j++
		}
		r.lines = append(r.lines, swapOps(h.lines[i:j])...)
		i = j
	}
	return r.ordered()
}

func swapOps(lines []hunkLine) []hunkLine {
	out := make([]hunkLine, len(lines))
	for i, l := range lines {
		out[i] = hunkLine{map[byte]byte{' ': ' ', '-': '+', '+': '-'}[l.op], l.text}
	}
	return out
}

// ordered puts what goes before what comes in each change, as diffs have it.
func (h *patchHunk) ordered() *patchHunk {
	for i := 1; i < len(h.lines); i++ {
		for j := i; j > 0 && h.lines[j].op == '-' && h.lines[j-1].op == '+'; j-- {
			h.lines[j], h.lines[j-1] = h.lines[j-1], h.lines[j]
		}
	}
	return h
}
