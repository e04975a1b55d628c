package clone

import (
	"archive/tar"
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"hako/container/guest"
	"hako/run/fault"
)

// unpack runs in the container. It extracts git objects from its input, has git check them out, and undoes the last
// commit if its parent is given. If it fails, it leaves nothing behind. There are no hooks and no filters.
const unpack = `
fail() { find . -mindepth 1 -delete 2>/dev/null; exit "$1"; }
mkdir -p -- "$1" && cd -- "$1" || exit 31
[ -z "$(ls -A)" ] || exit 32
command -v tar >/dev/null || exit 33
command -v git >/dev/null || exit 34
tar -xmf - || fail 35
git -c core.hooksPath=/dev/null -c checkout.workers=0 reset --quiet --hard --no-recurse-submodules </dev/null || fail 36
[ -z "$2" ] || git -c core.hooksPath=/dev/null reset --quiet --soft "$2" </dev/null || fail 36
`

// deliver sends a transfer into the container and checks it out there.
func (j *cloneJob) deliver(ctx context.Context, l *transfer, g guest.Executor, dir string) error {
	j.progress("sending " + bytesText(l.Bytes) + " into the container")
	in, out := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		out.CloseWithError(j.archive(l, out))
	}()
	output := &gitOutput{clean: j.git.secrets.Text}
	res, err := g.Exec(ctx, guest.Command{Script: unpack, Args: []string{dir, j.undo(l)},
		Timeout: cmp.Or(j.Timeout, defaultTimeout), Stdin: in, Stderr: output,
		Env: []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
			"LC_ALL=C", "GIT_LFS_SKIP_SMUDGE=1"}})
	in.CloseWithError(io.ErrClosedPipe) // ends the writer
	<-sent
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err != nil {
		return err
	}
	return exitError(unpackErrors, "check out", res.Exit, dir, output.text())
}

// undo returns the commit to reset to; empty means none. Otherwise snapshots would pile up.
func (j *cloneJob) undo(l *transfer) string {
	if j.src.Commit == "" || l.Key == "" {
		return ""
	}
	return l.Parent
}

// unpackErrors explains the exit statuses of unpack; -1 stands for all others.
var unpackErrors = map[int]fault.Error{
	-1: {Kind: fault.Unavailable, Why: "the container could not unpack it", Hint: "see what the container says"},
	31: {Kind: fault.Unavailable, Why: "the directory cannot be made in the container",
		Hint: "see that the user of the container may write there"},
	32: {Kind: fault.Invalid, Why: "there is something in the directory already", Hint: "clone into an empty one"},
	33: {Kind: fault.Unavailable, Why: "the image of the container lacks tar",
		Hint: "build an image that has it: hako env build"},
	exitNoGit: {Kind: fault.Unavailable, Why: "the image of the container lacks git",
		Hint: "build an image that has it: hako env build"},
	35: {Kind: fault.Unavailable, Why: "the objects could not be written in the container",
		Hint: "see that its disk has room"},
	36: {Kind: fault.Invalid, Why: "git in the container could not check out the files",
		Hint: "see what the container says"},
}

const exitNoGit = 34

// exitError returns the error for an exit status in a container.
func exitError(table map[int]fault.Error, op string, exit int, dir, output string) error {
	if exit == 0 {
		return nil
	}
	e, ok := table[exit]
	if !ok {
		e = table[-1]
	}
	e.Op, e.Subject, e.Err = op, dir, outputError(output)
	return &e
}

type commandOutput string

func (s commandOutput) Error() string { return string(s) }

func outputError(output string) error {
	if output == "" {
		return nil
	}
	return commandOutput(output)
}

// archive writes a repository as tar: what git needs, and our own configuration.
func (j *cloneJob) archive(l *transfer, to io.Writer) error {
	t := &tarball{tar.NewWriter(to), time.Now(), nil}
	for _, dir := range []string{".git", ".git/objects", ".git/objects/info", ".git/objects/pack", ".git/refs",
		".git/refs/heads", ".git/refs/tags", ".git/info"} {
		t.header(tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755})
	}
	t.text(".git/HEAD", "ref: "+heads+l.branch+"\n")
	t.text(".git/config", j.config(l))
	t.text(".git/packed-refs", packedRefs(l))
	if len(l.Shallow) > 0 {
		t.text(".git/shallow", strings.Join(l.Shallow, "\n")+"\n")
	}
	t.file(".git/objects/pack/"+l.Pack+".pack", l.pack)
	t.file(".git/objects/pack/"+l.Pack+".idx", l.idx)
	if t.err == nil {
		t.err = t.w.Close()
	}
	return t.err
}

// packedRefs returns the branches in the order that git requires.
func packedRefs(l *transfer) string {
	var b strings.Builder
	b.WriteString("# pack-refs with: peeled fully-peeled sorted \n" + l.Commit + " " + heads + l.branch + "\n")
	for _, branch := range l.tracked() {
		b.WriteString(l.commits[branch] + " refs/remotes/origin/" + branch + "\n")
	}
	return b.String()
}

// tracked lists the branches that are references of the server.
func (l *transfer) tracked() []string {
	return slices.DeleteFunc(sortedNames(l.commits), func(branch string) bool { return isHash(l.from[branch]) })
}

// config returns the configuration of the repository in the container. It contains nothing from the repository, and
// no credential.
func (j *cloneJob) config(l *transfer) string {
	var b strings.Builder
	b.WriteString("[core]\n\trepositoryformatversion = " + map[int]string{40: "0", 64: "1"}[len(l.Commit)] +
		"\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n")
	if len(l.Commit) == 64 {
		b.WriteString("[extensions]\n\tobjectFormat = sha256\n")
	}
	b.WriteString("[remote \"origin\"]\n\turl = " + quoted(j.url.String()) + "\n")
	for _, branch := range l.tracked() {
		b.WriteString("\tfetch = " + quoted("+"+l.from[branch]+":refs/remotes/origin/"+branch) + "\n")
	}
	if slices.Contains(l.tracked(), l.branch) {
		b.WriteString("[branch " + quoted(l.branch) + "]\n\tremote = origin\n\tmerge = " + quoted(l.from[l.branch]) + "\n")
	}
	return b.String()
}

// quoted quotes a value: a branch name may contain quotes, # and ;.
func quoted(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// A tarball writes entries until the first error.
type tarball struct {
	w    *tar.Writer
	time time.Time
	err  error
}

func (t *tarball) header(h tar.Header) {
	if h.ModTime = t.time; t.err == nil {
		t.err = t.w.WriteHeader(&h)
	}
}

func (t *tarball) text(name, text string) {
	t.header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(text))})
	if t.err == nil {
		_, t.err = io.WriteString(t.w, text)
	}
}

func (t *tarball) file(name string, f *os.File) {
	info, err := f.Stat()
	if err != nil {
		t.err = err
		return
	}
	t.header(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o444, Size: info.Size()})
	if t.err == nil {
		_, t.err = io.Copy(t.w, io.NewSectionReader(f, 0, info.Size()))
	}
}
