package clone

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"hako/run/fault"
)

// remoteRefs are the wanted references of a server.
type remoteRefs struct {
	standard string            // the default branch; empty if there is none
	branch   string            // to check out
	commits  map[string]string // by branch: the branch, and the target if there is one
	from     map[string]string // by branch: its full reference on the server, or a hash
}

// format returns the object format of the repository.
func (t remoteRefs) format() string {
	if len(t.commits[t.branch]) == 64 {
		return "sha256"
	}
	return "sha1"
}

const heads = "refs/heads/"

// listRemote lists the wanted references. The server is asked every time, so that nobody gets from the cache what the
// server would refuse.
func (j *cloneJob) listRemote(ctx context.Context) (remoteRefs, error) {
	j.progress("asking " + j.url.Host + " for the repository")
	wanted := j.wanted()
	text, err := j.list(ctx, wanted...)
	var moved *movedError
	if errors.As(err, &moved) && !strings.HasSuffix(j.url.Path, ".git") {
		j.url.Path += ".git" // some servers redirect requests without it
		text, err = j.list(ctx, wanted...)
	}
	if err != nil {
		return remoteRefs{}, err
	}
	return j.choose(ctx, text)
}

// wanted lists the references to ask for.
func (j *cloneJob) wanted() []string {
	wanted := []string{"HEAD"}
	if start := j.start(); start != "" && j.src.Commit == "" {
		wanted = append(wanted, start)
	}
	if j.src.Target != "" {
		wanted = append(wanted, heads+j.src.Target)
	}
	return wanted
}

// start returns the reference to check out; empty means the default branch.
func (j *cloneJob) start() string {
	if j.src.Start != "" || j.src.Branch == "" {
		return j.src.Start
	}
	return heads + j.src.Branch
}

// choose selects the wanted references.
func (j *cloneJob) choose(ctx context.Context, text string) (remoteRefs, error) {
	all, standard := parseRefs(text)
	at := remoteRefs{standard: standard, branch: cmp.Or(j.src.Branch, standard), commits: map[string]string{},
		from: map[string]string{}}
	if at.branch == "" {
		return remoteRefs{}, j.noDefault(ctx)
	}
	at.from[at.branch] = cmp.Or(j.src.Commit, cmp.Or(j.start(), heads+at.branch))
	if j.src.Target != "" {
		at.from[j.src.Target] = heads + j.src.Target
	}
	for branch, from := range at.from {
		commit, ok := all[from]
		switch {
		case from == j.src.Commit:
			commit = j.src.Commit // fetching shows whether it exists
		case branch == at.branch && j.start() == "":
			commit = all["HEAD"] // HEAD was requested instead of its name
		case !ok:
			return remoteRefs{}, j.missing(ctx, from)
		}
		at.commits[branch] = commit
	}
	return at, nil
}

// missing explains a missing reference.
func (j *cloneJob) missing(ctx context.Context, ref string) error {
	if branch, ok := strings.CutPrefix(ref, heads); ok {
		return j.noBranch(ctx, branch)
	}
	return &fault.Error{Kind: fault.NotFound, Op: j.op, Subject: j.subject, Why: "there is no " + oneLine(ref),
		Hint: "see whether it was closed or removed, and whether the token may see it"}
}

// maxRefs limits the bytes of a server's list.
const maxRefs = 32 << 20

func (j *cloneJob) list(ctx context.Context, patterns ...string) (string, error) {
	out := &limitedBuffer{limit: maxRefs}
	args := append([]string{"ls-remote", "--symref", j.url.String()}, patterns...)
	err := j.runOnline(ctx, call{args: args, stdout: out})
	if out.full {
		return "", &fault.Error{Kind: fault.TooLarge, Op: j.op, Subject: j.subject,
			Why: "the server lists more branches than can be read", Hint: "check the address"}
	}
	return out.String(), j.explain(err)
}

// parseRefs parses the output of ls-remote: commits by name, and the branch of HEAD.
func parseRefs(text string) (commits map[string]string, head string) {
	commits = map[string]string{}
	for line := range strings.Lines(text) {
		value, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if target, symbolic := strings.CutPrefix(value, "ref: "); ok && symbolic && name == "HEAD" {
			branch, isBranch := strings.CutPrefix(target, heads)
			if isBranch && branchProblem(branch) == "" {
				head = branch
			}
		} else if ok && isHash(value) {
			commits[name] = value
		}
	}
	if commits["HEAD"] == "" {
		head = "" // the branch has no commit yet
	}
	return commits, head
}

// isHash reports whether text is a SHA-1 or SHA-256 hash.
func isHash(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// noBranch explains a missing branch.
func (j *cloneJob) noBranch(ctx context.Context, name string) error {
	e := &fault.Error{Kind: fault.NotFound, Op: j.op, Subject: j.subject, Why: "there is no branch " + oneLine(name),
		Hint: "name a branch that exists"}
	if some := j.someBranches(ctx, name); len(some) > 0 {
		e.Hint = "there are " + strings.Join(some, ", ")
	}
	return e
}

func (j *cloneJob) noDefault(ctx context.Context) error {
	e := &fault.Error{Kind: fault.NotFound, Op: j.op, Subject: j.subject, Why: "the repository is empty",
		Hint: "push a first commit to it"}
	if some := j.someBranches(ctx, "main"); len(some) > 0 {
		e.Why, e.Hint = "it has no default branch", "name a branch: there are "+strings.Join(some, ", ")
	}
	return e
}

// someBranches returns a few branches, the most similar first.
func (j *cloneJob) someBranches(ctx context.Context, like string) []string {
	const few = 5
	text, err := j.list(ctx, heads+"*")
	if err != nil {
		return nil
	}
	all, _ := parseRefs(text)
	var names []string
	for name := range all {
		if branch, ok := strings.CutPrefix(name, heads); ok && branchProblem(branch) == "" {
			names = append(names, oneLine(branch))
		}
	}
	slices.Sort(names)
	if near, ok := fault.Nearest(like, names); ok {
		at := slices.Index(names, near)
		names = slices.Insert(slices.Delete(names, at, at+1), 0, near)
	}
	if len(names) > few {
		names = append(names[:few], "and others")
	}
	return names
}

// limitedBuffer is a buffer that refuses more than its limit. bytes.Buffer is not embedded: its ReadFrom would bypass
// the limit.
type limitedBuffer struct {
	buf   bytes.Buffer
	limit int
	full  bool
}

var errFull = errors.New("it is more than can be read")

// Write implements io.Writer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.buf.Len()+len(p) > b.limit {
		b.full = true
		return 0, errFull
	}
	return b.buf.Write(p)
}

func (b *limitedBuffer) String() string { return b.buf.String() }
