package text

import (
	"bytes"
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// choose picks the file to patch: the one given, else of the names in the patch
// one that exists, else for a new file the best name; "" if there is none.
func (p *patcher) choose(part *filePatch, file string) string {
	if file != "" {
		return file
	}
	var names, usable, existing []string
	for _, raw := range []string{part.old, part.new, part.index} {
		name, ok := p.stripped(raw)
		if !ok {
			continue
		}
		if slices.Contains(names, name) {
			continue
		}
		if dangerous(name) {
			names = append(names, name)
			p.tell("Ignoring potentially dangerous file name %s\n", name)
			continue
		}
		names, usable = append(names, name), append(usable, name)
		if fi, err := p.c.FS.Stat(p.c.Path(name)); err == nil && !fi.IsDir() {
			existing = append(existing, name)
		}
	}
	switch {
	case len(existing) > 0:
		return bestName(existing)
	case part.creates && len(usable) > 0:
		return bestName(usable)
	}
	return ""
}

// bestName has the fewest directories, then the shortest last part, then is the
// shortest altogether.
func bestName(names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), len(cli.Base(a))-len(cli.Base(b)), len(a)-len(b))
	})
}

// stripped takes leading parts off a name from a patch.
func (p *patcher) stripped(name string) (string, bool) {
	if name == "" || name == "/dev/null" {
		return "", false
	}
	if p.strip < 0 {
		return cli.Base(name), true
	}
	for range p.strip {
		_, rest, ok := strings.Cut(name, "/")
		if !ok {
			return "", false
		}
		name = strings.TrimLeft(rest, "/")
	}
	return name, name != ""
}

// finish writes what came of one file: the result, or the rejects.
func (p *patcher) finish(name string, part *filePatch, a *patching, original []byte) error {
	if len(a.failed) > 0 || a.skipped {
		return p.rejected(name, part, a)
	}
	if p.dry {
		return p.c.Stdout.Err()
	}
	result := bytes.Join(a.out, nil)
	if p.output != "" {
		return p.toOutput(result)
	}
	if err := p.backUp(name, original, a.inexact); err != nil {
		return err
	}
	if len(result) == 0 && (part.deletes || p.removeEmpty) {
		return p.remove(name)
	}
	if part.deletes && len(result) > 0 {
		p.tell("Not deleting file %s as content differs from patch\n", name)
		p.status = 1
	}
	return p.write(name, part, result)
}

func (p *patcher) toOutput(result []byte) error {
	if p.output == "-" {
		p.c.Stdout.Write(result)
		return p.c.Stdout.Err()
	}
	flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if p.written {
		flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	p.written = true
	f, err := p.c.FS.Open(p.c.Path(p.output), flag, 0o666)
	if err == nil {
		_, err = f.Write(result)
		if e := f.Close(); err == nil {
			err = e
		}
	}
	return p.fileError("create", p.output, err)
}

func (p *patcher) fileError(what, name string, err error) error {
	if err == nil {
		return nil
	}
	if e := p.c.Limiter.Err(); e != nil {
		return e
	}
	return errPatch(fmt.Sprintf("Can't %s file %s : %s", what, name, vfs.Reason(err)))
}

// backUp keeps the original if asked to, or if the patch did not fit exactly.
func (p *patcher) backUp(name string, original []byte, inexact bool) error {
	if !p.backup && (!inexact || p.noBackup) {
		return nil
	}
	err := p.c.FS.WriteFile(p.c.Path(name+p.suffix), original, 0o644)
	return p.fileError("create", name+p.suffix, err)
}

func (p *patcher) write(name string, part *filePatch, result []byte) error {
	abs := p.c.Path(name)
	mode := fs.FileMode(0o644)
	if fi, err := p.c.FS.Stat(abs); err == nil {
		mode = fi.Mode().Perm()
	} else if err := p.c.FS.MkdirAll(path.Dir(abs), 0o755); err != nil {
		return p.fileError("create", name, err)
	}
	if err := p.c.FS.WriteFile(abs, result, mode); err != nil {
		return p.fileError("create", name, err)
	}
	if part.renameTo == "" || p.reverse {
		return nil
	}
	to := part.renameTo
	if dangerous(to) {
		return errPatch("refusing to rename to " + to)
	}
	if err := p.c.FS.MkdirAll(path.Dir(p.c.Path(to)), 0o755); err != nil {
		return p.fileError("create", to, err)
	}
	return p.fileError("rename", name, p.c.FS.Rename(abs, p.c.Path(to)))
}

// remove deletes a file and the directories that become empty by it.
func (p *patcher) remove(name string) error {
	abs := p.c.Path(name)
	if _, err := p.c.FS.Lstat(abs); err != nil {
		return nil
	}
	if err := p.c.FS.Remove(abs); err != nil {
		return p.fileError("remove", name, err)
	}
	for dir := path.Dir(abs); strings.HasPrefix(dir, p.c.Dir+"/"); dir = path.Dir(dir) {
		if p.c.FS.Remove(dir) != nil {
			break
		}
	}
	return nil
}

// rejected reports hunks that did not fit and saves them.
func (p *patcher) rejected(name string, part *filePatch, a *patching) error {
	p.status = 1
	failed, word, total := len(a.failed), "FAILED", len(part.hunks)
	if a.skipped {
		failed, word = total, "ignored"
		a.failed = nil
		for i := range part.hunks {
			a.failed = append(a.failed, i)
		}
	}
	reject := p.reject
	if reject == "" {
		reject = name + ".rej"
	}
	if p.dry || reject == "-" || p.output == "-" {
		p.tell("%d out of %d hunk%s %s\n", failed, total, cli.Plural(total), word)
		return nil
	}
	p.tell("%d out of %d hunk%s %s -- saving rejects to file %s\n", failed, total, cli.Plural(total), word, reject)
	if !a.skipped && failed < total {
		p.tell("%s is left as it was\n", name)
	}
	err := p.c.FS.WriteFile(p.c.Path(reject), rejectText(part, a.failed), 0o644)
	return p.fileError("create", reject, err)
}

// rejectText writes hunks in the style they came in.
func rejectText(part *filePatch, failed []int) []byte {
	var b bytes.Buffer
	if part.kind == 'u' {
		fmt.Fprintf(&b, "%s\n%s\n", cmp.Or(part.oldLine, "--- /dev/null"), cmp.Or(part.newLine, "+++ /dev/null"))
	} else {
		fmt.Fprintf(&b, "%s\n%s\n", cmp.Or(part.oldLine, "*** /dev/null"), cmp.Or(part.newLine, "--- /dev/null"))
	}
	for _, i := range failed {
		if part.kind == 'u' {
			rejectUnified(&b, part.hunks[i])
		} else {
			rejectContext(&b, part.hunks[i])
		}
	}
	return b.Bytes()
}

func rejectLine(b *bytes.Buffer, mark string, text []byte) {
	b.WriteString(mark)
	b.Write(text)
	if !bytes.HasSuffix(text, []byte("\n")) {
		b.WriteString("\n\\ No newline at end of file\n")
	}
}

func rejectUnified(b *bytes.Buffer, h *patchHunk) {
	span := func(start, count int) string {
		if count == 1 {
			return fmt.Sprint(start)
		}
		return fmt.Sprintf("%d,%d", start, count)
	}
	fmt.Fprintf(b, "@@ -%s +%s @@%s\n", span(h.oldStart, h.oldCount), span(h.newStart, h.newCount), h.tail)
	for _, l := range h.lines {
		rejectLine(b, string(l.op), l.text)
	}
}

func rejectContext(b *bytes.Buffer, h *patchHunk) {
	fmt.Fprintf(b, "***************\n*** %s ****\n", rangeText(h.oldStart-1, h.oldStart-1+h.oldCount))
	marks := h.contextMarks()
	for i, l := range h.lines {
		if l.op != '+' {
			rejectLine(b, marks[i], l.text)
		}
	}
	fmt.Fprintf(b, "--- %s ----\n", rangeText(h.newStart-1, h.newStart-1+h.newCount))
	for i, l := range h.lines {
		if l.op != '-' {
			rejectLine(b, marks[i], l.text)
		}
	}
}

// contextMarks turns neighbouring - and + into "!", as context diffs have it.
func (h *patchHunk) contextMarks() []string {
	marks := make([]string, len(h.lines))
	for i := 0; i < len(h.lines); {
		j, kinds := i, ""
		for j < len(h.lines) && (h.lines[j].op == ' ') == (h.lines[i].op == ' ') {
			kinds += string(h.lines[j].op)
			j++
		}
		for k := i; k < j; k++ {
			marks[k] = string(h.lines[k].op) + " "
			if strings.Contains(kinds, "-") && strings.Contains(kinds, "+") {
				marks[k] = "! "
			}
		}
		i = j
	}
	return marks
}
