package clone

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hako/container/guest"
	"hako/internal/ownerfile"
	"hako/run/fault"
)

// snapshot runs in the container. It makes a tree of the files of a project, and prints the checked-out commit, that
// tree and the tree of the commit; then a pack of what is new since the cloned commit, unless there is nothing new,
// or nothing since the last time.
//
// It works in a separate repository, which only borrows the objects of the project: no setting of the project
// applies, so that no program that it names is run, and its index and branches do not change. A copy of the index
// avoids reading every file; an unusable one is ignored. Tracked files come first: a directory may have replaced a
// file. Nested repositories are left out: nobody else could fetch them.
const snapshot = `
project=$1 base=$2 last=$3
cd -- "$project" && [ -d .git ] && [ ! -L .git ] || exit 41
command -v git >/dev/null || exit 34
own=$(mktemp -d) || exit 42
trap 'rm -rf -- "$own"' EXIT
mkdir "$own/refs" "$own/objects" "$own/objects/info" "$own/info" || exit 42
echo 'ref: refs/heads/none' >"$own/HEAD"
printf '%s' "$4" >"$own/config"
{ printf '%s\n' "$5"; [ ! -f .git/info/exclude ] || cat .git/info/exclude; } >"$own/info/exclude"
echo "$project/.git/objects" >"$own/objects/info/alternates"
[ ! -f .git/shallow ] || cp .git/shallow "$own/shallow" || exit 42
head=$(GIT_DIR=.git git rev-parse --verify --quiet HEAD) || exit 43
export GIT_DIR="$own" GIT_WORK_TREE="$project"
trees=$(git rev-parse "$base^{tree}" "$head^{tree}") || exit 44
set -- $trees
known=$1 now=$2
take() {
	{ git ls-files -z --modified && git ls-files -z --others --exclude-standard; } >"$own/changed" &&
	git update-index -z --add --remove --replace --stdin <"$own/changed" && tree=$(git write-tree)
}
[ -f .git/index ] && cp -p .git/index "$own/index" && take 2>/dev/null ||
	{ rm -f "$own/index" "$own/index.lock"; git read-tree "$head" && take; } || exit 45
echo "$head $tree $now"
[ "$head $tree" = "$base $known" ] || [ "$head $tree" = "$last" ] ||
	printf '%s\n' "$head" "$tree" "^$base" "^$known" | git pack-objects --quiet --revs --stdout --no-reuse-delta --window=0 --depth=0 || exit 46
`

// generatedFiles are files that programs generate. A project can include them in its .gitignore, which takes
// precedence.
const generatedFiles = `__pycache__/
*.py[co]
.pytest_cache/
.mypy_cache/
.ruff_cache/
.hypothesis/
.ipynb_checkpoints/
.tox/
.nox/
.venv/
.eggs/
*.egg-info/
.coverage
node_modules/
.npm/
.nyc_output/
.parcel-cache/
.gradle/
*.class
.DS_Store
Thumbs.db
*.sw[op]`

// insidePath is the PATH for git inside: no directory that a project may write to.
const insidePath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// insideEnviron is the environment of git inside.
func insideEnviron() []string {
	return append([]string{"PATH=" + insidePath, "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"LC_ALL=C", "GIT_NO_REPLACE_OBJECTS=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1"},
		environ([]setting{{"core.hooksPath", "/dev/null"}, {"core.attributesFile", "/dev/null"},
			{"core.excludesFile", "/dev/null"}, {"safe.directory", "*"}})...)
}

// An incomingPack receives the output of snapshot: a line, and a pack.
type incomingPack struct {
	head, tree string
	same       bool // the tree is that of head
	line       []byte
	pack       *os.File // nil means that there is none
	bytes      int64

	limit int64
	dir   *ownerfile.Dir // of the pack; nil means not yet created
	in    string
}

const maxHeader = 3 * 65

// Write implements io.Writer.
func (p *incomingPack) Write(data []byte) (int, error) {
	rest := data
	if p.head == "" {
		line, after, ended := bytes.Cut(data, []byte("\n"))
		p.line = append(p.line, line[:min(len(line), maxHeader)]...)
		if !ended {
			return len(data), nil
		}
		if err := p.read(); err != nil {
			return 0, err
		}
		rest = after
	}
	return len(data), p.store(rest)
}

// read parses the line.
func (p *incomingPack) read() error {
	words := strings.Split(string(p.line), " ")
	if len(words) != 3 || !isHash(words[0]) || !isHash(words[1]) {
		return invalidPack("the container sent invalid data", nil)
	}
	p.head, p.tree, p.same = words[0], words[1], words[1] == words[2]
	return nil
}

// store writes the pack, up to a limit: a container may send for ever.
func (p *incomingPack) store(data []byte) (err error) {
	if len(data) == 0 {
		return nil
	}
	if p.bytes += int64(len(data)); p.bytes > p.limit {
		return &fault.Error{Kind: fault.TooLarge, Op: opSave, Why: "the changes are larger than " + bytesText(p.limit),
			Hint: "have large files removed or put into .gitignore, or raise the size of a repository"}
	}
	if p.pack == nil {
		if err = p.open(); err != nil {
			return cacheFault(p.in, "it cannot be written", err)
		}
	}
	if _, err = p.pack.Write(data); err != nil {
		return cacheFault(p.in, "it cannot be written", err)
	}
	return nil
}

// open creates the file for the pack.
func (p *incomingPack) open() (err error) {
	if err = p.makeDir(); err == nil {
		p.pack, err = os.OpenFile(filepath.Join(p.dir.Path, "pack"), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	}
	return err
}

// makeDir creates the directory, if there is none yet. It also removes directories of killed processes.
func (p *incomingPack) makeDir() (err error) {
	if p.dir == nil {
		p.dir, err = ownerfile.MakeDir(p.in, "out-")
	}
	return err
}

func (p *incomingPack) close() {
	if p.pack != nil {
		p.pack.Close()
	}
	if p.dir != nil {
		_ = p.dir.Remove() // the next save tries again
	}
}

func invalidPack(why string, err error) error {
	return &fault.Error{Kind: fault.Denied, Op: opSave, Why: why, Err: err,
		Hint: "the container may be hostile or broken: start again in a new one"}
}

// takeChanges runs snapshot in a container.
func (j *cloneJob) takeChanges(ctx context.Context, o Origin, last Kept) (*incomingPack, error) {
	p := &incomingPack{limit: cmp.Or(j.MaxBytes, defaultBytes), in: j.Dir}
	output := &gitOutput{clean: j.git.secrets.Text}
	res, err := o.Guest.Exec(ctx,
		guest.Command{Script: snapshot, Args: []string{o.Dir, o.Commit, last.Head + " " + last.Tree, insideConfig(o.Commit),
			generatedFiles},
			Dir: o.Dir, Timeout: cmp.Or(j.Timeout, defaultTimeout), Stdin: strings.NewReader(""), Stdout: p, Stderr: output,
			Env: insideEnviron()})
	if err == nil && res.TimedOut {
		err = errOverdue
	}
	if err == nil {
		err = exitError(snapshotErrors, opSave, res.Exit, o.Dir, output.text())
	}
	if err == nil && p.head == "" {
		err = invalidPack("the container sent nothing", nil)
	}
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if err == nil && p.pack != nil {
		_, err = p.pack.Seek(0, io.SeekStart)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// insideConfig returns the object format as git configuration.
func insideConfig(commit string) string {
	if len(commit) == 64 {
		return "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectFormat = sha256\n"
	}
	return "[core]\n\trepositoryformatversion = 0\n"
}

// snapshotErrors explains the exit statuses of snapshot; -1 stands for all others.
var snapshotErrors = map[int]fault.Error{
	-1:        {Kind: fault.Unavailable, Why: "the container could not make a snapshot", Hint: startAgain},
	exitNoGit: unpackErrors[exitNoGit],
	41:        {Kind: fault.Invalid, Why: "there is no repository in it any more", Hint: startAgain},
	42: {Kind: fault.Unavailable, Why: "there is no room in the container for a snapshot",
		Hint: "see that its disk has room"},
	43: {Kind: fault.Invalid, Why: "its repository has no commit checked out", Hint: startAgain},
	44: {Kind: fault.Invalid, Hint: startAgain,
		Why: "the commit that was cloned, or the one that is checked out, is not in it any more"},
	45: {Kind: fault.Invalid, Why: "git in the container could not read the files",
		Hint: "see that they can be read, and that the disk has room"},
	46: {Kind: fault.Invalid, Why: "git in the container could not pack what changed",
		Hint: "see that its disk has room and its repository is whole: git fsck"},
}

const startAgain = "start again in a new container"
