package clone

import (
	"cmp"
	"context"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"hako/container/guest"
	"hako/internal/lazyregexp"
	"hako/run/fault"
)

// A Save says what is kept of a container, and where.
type Save struct {
	Message string // of the commit; required
	Author  string // of the commit, as "name <address>"; empty means hako <hako@localhost>
	// Key goes into the message as the trailer "Hako-Task: KEY": by it a commit
	// that was pushed before is known again. It is required.
	Key  string
	Ref  string // where the commit goes: refs/heads/... or refs/hako/...
	Mine bool   // the reference is ours alone: whatever it says is replaced. False means that what is there must be an ancestor
	Drop string // a reference refs/hako/... that is removed with it; empty means none
	// Guard are files that what goes to refs/heads/... must not change: paths, as they are in the repository; one
	// that ends in / is a directory. Nil means that any may be changed.
	Guard []string
}

// An Origin is a container that a repository was cloned into.
type Origin struct {
	Guest  guest.Executor
	Dir    string // of the project
	Source Source // what was cloned, with the address of [Checkout.URL]
	Commit string // see [Checkout.Commit]
	Key    string // see [Checkout.Key]
	// Kept is what was kept of it so far, by reference. Nil means nothing.
	Kept map[string]Kept
}

// Kept is what was kept.
type Kept struct {
	Commit     string // that the reference is at; empty means that there was nothing to keep
	Head, Tree string // the commit that was checked out in the container, and the files there were
}

// Save keeps the files of a project: what changed since it was cloned is pushed to a reference. On refs/hako/... the
// commits that were made inside are kept with them; on refs/heads/... all of it is one commit on the one that was
// cloned first: who made it and what it says is ours to say. Nothing is pushed where nothing changed, or where it was
// kept before. Nothing in the container is changed by it. Progress may be nil.
func (s *Store) Save(ctx context.Context, o Origin, save Save, progress func(string)) (Kept, error) {
	if err := s.checkSave(o, save); err != nil {
		return Kept{}, err
	}
	var kept Kept
	err := s.inTime(ctx, opSave, o.Source, progress, func(ctx context.Context, j *cloneJob) (err error) {
		kept, err = j.save(ctx, o, save)
		return err
	})
	return kept, err
}

func (s *Store) checkSave(o Origin, save Save) error {
	if err := s.Check(o.Source); err != nil {
		return err
	}
	if !isHash(o.Commit) {
		return &fault.Error{Kind: fault.Invalid, Op: opSave, Why: "nothing was cloned into the container",
			Hint: "name a repository when it is made"}
	}
	return save.Check()
}

var authorForm = lazyregexp.New(`^[^<>\x00-\x1f\x7f]*[^<>\x00-\x20\x7f] <[^<>\x00-\x20\x7f]*>$`)

const defaultAuthor = "hako <hako@localhost>"

const maxMessage = 64 << 10

// Check refuses what could not be kept, or would make git do something else.
func (s Save) Check() error {
	refuse := func(subject, why, hint string) error {
		return &fault.Error{Kind: fault.Invalid, Op: opSave, Subject: oneLine(subject), Why: why, Hint: hint}
	}
	switch {
	case invalidRef(s.Ref, heads, hakoRefs):
		return refuse(s.Ref, "it is not where commits are kept", "write it as refs/heads/branch or refs/hako/name")
	case s.Drop != "" && invalidRef(s.Drop, hakoRefs):
		return refuse(s.Drop, "only references below refs/hako/ are removed", "write it as refs/hako/name")
	case s.Drop == s.Ref:
		return refuse(s.Drop, "it cannot be kept and removed", "name another one")
	case s.Key == "" || len(s.Key) > 200 || strings.ContainsFunc(s.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return refuse(s.Key, "it is not a key", "use letters, digits and signs, without blanks")
	case strings.TrimSpace(s.Message) == "" || len(s.Message) > maxMessage || !utf8.ValidString(s.Message) ||
		strings.Contains(s.Message, "\x00"):
		return refuse("", "the message of the commit is empty, too long or not text", "say what changed")
	case !authorForm.Get().MatchString(cmp.Or(s.Author, defaultAuthor)):
		return refuse(s.Author, "it is not an author", "write it as name <address>")
	case slices.ContainsFunc(s.Guard, invalidGuard):
		return refuse("", "a path to guard is none of the repository", "write it as directory/file or directory/")
	}
	return nil
}

// invalidGuard reports whether a path would guard nothing.
func invalidGuard(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return path == "." || !fs.ValidPath(path)
}

// public reports whether others see what is kept.
func (s Save) public() bool { return strings.HasPrefix(s.Ref, heads) }

// hakoRefs is where references are that people do not see.
const hakoRefs = "refs/hako/"

// invalidRef reports whether a reference is in none of some places.
func invalidRef(ref string, places ...string) bool {
	for _, place := range places {
		if strings.HasPrefix(ref, place) {
			return refProblem(ref) != ""
		}
	}
	return true
}

// save takes what changed out of a container, and pushes it.
func (j *cloneJob) save(ctx context.Context, o Origin, s Save) (Kept, error) {
	last := o.Kept[s.Ref]
	if o.has(s) {
		last.Commit = o.Commit
		return last, j.dropAlone(ctx, o, s.Drop)
	}
	p, err := j.takeChanges(ctx, o, last)
	if err != nil {
		return Kept{}, err
	}
	defer p.close()
	kept := Kept{Head: p.head, Tree: p.tree}
	switch {
	case p.head == last.Head && p.tree == last.Tree:
		return last, j.dropKept(ctx, o, s.Drop)
	case p.head == o.Commit && p.same && o.Source.Commit == "" && !(s.Mine && last.Commit != ""):
		return kept, j.dropKept(ctx, o, s.Drop)
	}
	b, err := j.newSaveRepo(ctx, o, p)
	if err != nil {
		return Kept{}, err
	}
	commit, err := b.finish(ctx, o, p, s)
	if err == nil && commit != "" {
		kept.Commit, err = b.send(ctx, commit, s)
	}
	if err != nil {
		return Kept{}, err
	}
	return kept, nil
}

// has reports whether a container was begun from what is to be kept: by one who did not live to tell. The key alone
// proves nothing, as a stranger can write it on what he proposes; but he cannot push to the branch.
func (o Origin) has(s Save) bool {
	return !s.Mine && o.Key == s.Key && o.Source.Start == "" && o.Source.Commit == "" && s.Ref == heads+o.Source.Branch
}

// dropKept removes a reference that is known to be there, where nothing is pushed.
func (j *cloneJob) dropKept(ctx context.Context, o Origin, ref string) error {
	if o.Kept[ref].Commit == "" {
		return nil
	}
	return j.dropAlone(ctx, o, ref)
}

// dropAlone removes a reference, if there is one to be removed.
func (j *cloneJob) dropAlone(ctx context.Context, o Origin, ref string) error {
	if ref == "" {
		return nil
	}
	p := &incomingPack{in: j.Dir}
	defer p.close()
	b, err := j.newSaveRepo(ctx, o, p)
	if err == nil {
		b.drop(ctx, ref)
	}
	return err
}

// finish returns the commit that is pushed; empty means that there is nothing to push, and what is to be dropped is.
func (b *saveRepo) finish(ctx context.Context, o Origin, p *incomingPack, s Save) (string, error) {
	base, err := b.base(ctx, o, s)
	if err != nil {
		return "", err
	}
	if !s.public() {
		return b.commit(ctx, b.newCommit(s, p.tree, p.head, baseTrailer+base+"\n"))
	}
	was, err := b.resolve(ctx, base+"^{tree}")
	if err != nil {
		return "", err
	}
	if was == p.tree {
		if s.Drop != "" {
			b.drop(ctx, s.Drop)
		}
		return "", nil
	}
	if err := b.guard(ctx, o, base, p.tree, s.Guard); err != nil {
		return "", err
	}
	return b.commit(ctx, b.newCommit(s, p.tree, base, ""))
}

// newCommit is a commit of ours.
func (b *saveRepo) newCommit(s Save, tree, parent, trailers string) commitText {
	who := cmp.Or(s.Author, defaultAuthor) + " " + strconv.FormatInt(time.Now().Unix(), 10) + " +0000"
	return commitText("tree " + tree + "\nparent " + parent + "\nauthor " + who + "\ncommitter " + who + "\n\n" +
		withKey(b.git.secrets.Text(s.Message), s.Key) + trailers)
}

// base returns the commit that the work began from. In a container that began from kept work that is not the one that
// was cloned: commits that were made inside may be between them. What was kept says which one it is, and is ours.
func (b *saveRepo) base(ctx context.Context, o Origin, s Save) (string, error) {
	if o.Source.Commit == "" {
		return o.Commit, nil
	}
	if err := b.have(ctx, o.Source.Commit); err != nil {
		return "", err
	}
	text, err := b.commitText(ctx, o.Source.Commit)
	if err != nil || text.key() != s.Key || !isHash(text.trailer(baseTrailer)) {
		return o.Commit, err
	}
	return text.trailer(baseTrailer), b.have(ctx, text.trailer(baseTrailer))
}
