package clone

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"hako/run/fault"
)

// examine completes the manifest of commits before they are sent.
func (c *cache) examine(ctx context.Context, l *transfer, m *manifest) error {
	files, err := c.count(ctx, m.Commit)
	if err != nil {
		return err
	}
	if m.Shallow, err = c.shallowCommits(ctx, l); err != nil {
		return err
	}
	if err := c.readOrigin(ctx, m); err != nil {
		return err
	}
	if files.submodules {
		m.Warnings = append(m.Warnings,
			"the repository has submodules, which are not fetched: git submodule update --init fetches those that may be reached")
	}
	if files.attributes && c.usesLFS(ctx, m.Commit) {
		m.Warnings = append(m.Warnings,
			"large files are kept apart (Git LFS) and are not fetched: their places are held by small text files")
	}
	if target, ok := l.commits[c.src.Target]; ok && target != m.Commit && !c.haveCommonAncestor(ctx, target, m.Commit) {
		m.Warnings = append(m.Warnings, "the history that was fetched does not reach back to where "+oneLine(l.branch)+" and "+
			oneLine(c.src.Target)+
			" parted: git diff origin/"+oneLine(c.src.Target)+" HEAD compares them as they are; for more ask for a full clone")
	}
	return nil
}

// readOrigin reads the key and the parent of a commit.
func (c *cache) readOrigin(ctx context.Context, m *manifest) error {
	raw, err := c.commitText(ctx, m.Commit)
	if err != nil {
		return err
	}
	m.Key = raw.key()
	if parents := raw.parents(); len(parents) == 1 && !slices.Contains(m.Shallow, m.Commit) {
		m.Parent = parents[0]
	}
	return nil
}

// shallowCommits returns the commits of a transfer whose parents are missing.
func (c *cache) shallowCommits(ctx context.Context, l *transfer) ([]string, error) {
	text, err := os.ReadFile(filepath.Join(c.repository(), "shallow"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, errStale
	}
	var out bytes.Buffer
	args := []string{"rev-list", "--max-parents=0"}
	for _, branch := range sortedNames(l.commits) {
		args = append(args, l.commits[branch])
	}
	if err := c.local(ctx, "", &out, args...); err != nil {
		return nil, err
	}
	ends := strings.Fields(out.String())
	return slices.DeleteFunc(strings.Fields(string(text)),
		func(commit string) bool { return !slices.Contains(ends, commit) }), nil
}

func (c *cache) haveCommonAncestor(ctx context.Context, a, b string) bool {
	return c.local(ctx, "", nil, "merge-base", a, b) == nil
}

// usesLFS looks for Git LFS in the top-level .gitattributes.
func (c *cache) usesLFS(ctx context.Context, commit string) bool {
	const enough = 64 << 10
	out := &limitedBuffer{limit: enough}
	// A file that is too long counts as one without.
	err := c.git.run(ctx, call{args: []string{"cat-file", "blob", commit + ":.gitattributes"}, dir: c.repository(),
		lock: c.lock, stdout: out})
	return err == nil && strings.Contains(out.String(), "filter=lfs")
}

// count counts the files of a commit, and stops at the limits: ten small trees can stand for more files than any disk
// holds.
func (c *cache) count(ctx context.Context, commit string) (*treeReader, error) {
	t := &treeReader{maxFiles: cmp.Or(c.MaxFiles, defaultFiles), maxBytes: cmp.Or(c.MaxBytes, defaultBytes)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.stop = cancel
	err := c.git.run(ctx, call{args: []string{"ls-tree", "-r", "-l", "-z", "--full-tree", commit}, dir: c.repository(),
		lock: c.lock, stdout: t})
	switch {
	case t.files > t.maxFiles:
		return nil, &fault.Error{Kind: fault.TooLarge, Op: c.op, Subject: c.subject, Why: "there are more than " +
			strconv.Itoa(t.maxFiles) + " files in it",
			Hint: "raise the number of files of a repository"}
	case t.bytes > t.maxBytes:
		return nil, &fault.Error{Kind: fault.TooLarge, Op: c.op, Subject: c.subject, Why: "its files are larger than " +
			bytesText(t.maxBytes) + " together",
			Hint: "raise the size of a repository"}
	}
	return t, err
}

// A treeReader parses the output of ls-tree: "mode type object size\tname\0".
type treeReader struct {
	maxFiles   int
	maxBytes   int64
	stop       func()
	entry      []byte
	files      int
	bytes      int64
	submodules bool
	attributes bool
}

// Write implements io.Writer.
func (t *treeReader) Write(p []byte) (int, error) {
	const longestEntry = 4096 // longer names are counted without being parsed
	for rest := p; len(rest) > 0; {
		piece, after, ended := bytes.Cut(rest, []byte{0})
		if room := longestEntry - len(t.entry); room > 0 {
			t.entry = append(t.entry, piece[:min(room, len(piece))]...)
		}
		if rest = after; ended {
			t.add(string(t.entry))
			t.entry = t.entry[:0]
		}
		if t.files > t.maxFiles || t.bytes > t.maxBytes {
			t.stop()
			return 0, errFull
		}
	}
	return len(p), nil
}

func (t *treeReader) add(entry string) {
	t.files++
	about, name, _ := strings.Cut(entry, "\t")
	if fields := strings.Fields(about); len(fields) == 4 {
		n, _ := strconv.ParseInt(fields[3], 10, 64)
		t.bytes += n
		t.submodules = t.submodules || fields[1] == "commit"
	}
	t.submodules = t.submodules || name == ".gitmodules"
	t.attributes = t.attributes || name == ".gitattributes"
}
