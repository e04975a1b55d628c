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

// choose returns the file to patch: the given one, or an existing file of those that the
// patch names, or the best name for a new file. It is empty if there is none.
func (p *patcher) choose(part *filePatch, file string) string {
	if file != "" {
		return file
	}
	var names, usable, existing []string
	for _, raw := range []string{part.old, part.new, part.index} {
		name, ok := p.stripped(raw)
		if !ok || slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		if dangerous(name) {
			p.tell("Ignoring potentially dangerous file name %s\n", name)
			continue
		}
		usable = append(usable, name)
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

// bestName returns the name with the fewest directories, then with the shortest last
// part, then the shortest name.
func bestName(names []string) string {
	return slices.MinFunc(names, func(a, b string) int {
		return cmp.Or(strings.Count(a, "/")-strings.Count(b, "/"), len(cli.Base(a))-len(cli.Base(b)), len(a)-len(b))
	})
}

// stripped removes leading directories from a name in a patch, as -p asks.
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

// finish writes the result for one file, or the rejected hunks.
func (p *patcher) finish(name string, part *filePatch, a *patching, original []byte) {
	if len(a.failed) > 0 || a.skipped {
		p.rejected(name, part, a)
		return
	}
	if p.dry {
		return
	}
	result := bytes.Join(a.out, nil)
	if p.output != "" {
		p.toOutput(result)
		return
	}
	if p.backup || a.inexact && !p.noBackup {
		p.writeFile(name+p.suffix, original, 0o644)
	}
	if len(result) == 0 && (part.deletes || p.removeEmpty) {
		p.remove(name)
		return
	}
	if part.deletes && len(result) > 0 {
		p.tell("Not deleting file %s as content differs from patch\n", name)
		p.status = 1
	}
	p.write(name, part, result)
}

func (p *patcher) toOutput(result []byte) {
	if p.output == "-" {
		p.c.Stdout.Write(result)
		return
	}
	flag := os.O_TRUNC
	if p.written {
		flag = os.O_APPEND
	}
	p.written = true
	f, err := p.c.FS.Open(p.c.Path(p.output), os.O_WRONLY|os.O_CREATE|flag, 0o666)
	p.checkFile("create", p.output, err)
	_, err = f.Write(result)
	p.checkFile("create", p.output, cmp.Or(err, f.Close()))
}

// checkFile aborts if err is not nil.
func (p *patcher) checkFile(what, name string, err error) {
	if err != nil {
		cli.Check(p.c.Limiter.Err())
		fail(2, "Can't %s file %s : %s", what, name, vfs.Reason(err))
	}
}

func (p *patcher) writeFile(name string, data []byte, mode fs.FileMode) {
	p.checkFile("create", name, p.c.FS.WriteFile(p.c.Path(name), data, mode))
}

func (p *patcher) write(name string, part *filePatch, result []byte) {
	abs := p.c.Path(name)
	mode := fs.FileMode(0o644)
	if fi, err := p.c.FS.Stat(abs); err == nil {
		mode = fi.Mode().Perm()
	} else {
		p.checkFile("create", name, p.c.FS.MkdirAll(path.Dir(abs), 0o755))
	}
	p.writeFile(name, result, mode)
	to := part.renameTo
	if to == "" || p.reverse {
		return
	}
	if dangerous(to) {
		fail(2, "refusing to rename to %s", to)
	}
	p.checkFile("create", to, p.c.FS.MkdirAll(path.Dir(p.c.Path(to)), 0o755))
	p.checkFile("rename", name, p.c.FS.Rename(abs, p.c.Path(to)))
}

// remove deletes a file and the directories that become empty.
func (p *patcher) remove(name string) {
	abs := p.c.Path(name)
	if _, err := p.c.FS.Lstat(abs); err != nil {
		return
	}
	p.checkFile("remove", name, p.c.FS.Remove(abs))
	for dir := path.Dir(abs); strings.HasPrefix(dir, p.c.Dir+"/"); dir = path.Dir(dir) {
		if p.c.FS.Remove(dir) != nil {
			break
		}
	}
}

// rejected reports hunks that did not match, and saves them.
func (p *patcher) rejected(name string, part *filePatch, a *patching) {
	p.status = 1
	failed, word, total := a.failed, "FAILED", len(part.hunks)
	if a.skipped {
		failed, word = part.hunks, "ignored"
	}
	reject := cmp.Or(p.reject, name+".rej")
	p.tell("%d out of %d hunk%s %s", len(failed), total, cli.Plural(total), word)
	if p.dry || reject == "-" || p.output == "-" {
		p.tell("\n")
		return
	}
	p.tell(" -- saving rejects to file %s\n", reject)
	if len(failed) < total {
		p.tell("%s is left as it was\n", name)
	}
	p.writeFile(reject, rejectText(part, failed), 0o644)
}

// rejectText writes hunks in the format of the patch.
func rejectText(part *filePatch, failed []*patchHunk) []byte {
	var b bytes.Buffer
	marks, reject := [2]string{"***", "---"}, rejectContext
	if part.kind == 'u' {
		marks, reject = [2]string{"---", "+++"}, rejectUnified
	}
	fmt.Fprintf(&b, "%s\n%s\n", cmp.Or(part.oldLine, marks[0]+" /dev/null"), cmp.Or(part.newLine, marks[1]+" /dev/null"))
	for _, h := range failed {
		reject(&b, h)
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
	old, new := h.expected(), h.reversed().expected()
	fmt.Fprintf(b, "@@ -%s +%s @@%s\n", unifiedRange(old, old+h.oldCount), unifiedRange(new, new+h.newCount), h.tail)
	for _, l := range h.lines {
		rejectLine(b, string(l.op), l.text)
	}
}

func rejectContext(b *bytes.Buffer, h *patchHunk) {
	marks := h.contextMarks()
	half := func(format string, start, count int, other byte) {
		fmt.Fprintf(b, format, rangeText(start-1, start-1+count))
		for i, l := range h.lines {
			if l.op != other {
				rejectLine(b, marks[i], l.text)
			}
		}
	}
	half("***************\n*** %s ****\n", h.oldStart, h.oldCount, '+')
	half("--- %s ----\n", h.newStart, h.newCount, '-')
}

// contextMarks returns the marks of the lines. In a change that removes and adds lines
// all are marked "!", as in context diffs.
func (h *patchHunk) contextMarks() []string {
	marks := make([]string, len(h.lines))
	for i := 0; i < len(h.lines); {
		j, kinds := i, ""
		for j < len(h.lines) && (h.lines[j].op == ' ') == (h.lines[i].op == ' ') {
			kinds += string(h.lines[j].op)
			j++
		}
		changed := strings.Contains(kinds, "-") && strings.Contains(kinds, "+")
		for ; i < j; i++ {
			marks[i] = string(h.lines[i].op) + " "
			if changed {
				marks[i] = "! "
			}
		}
	}
	return marks
}
