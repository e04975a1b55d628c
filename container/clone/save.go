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

// A Save describes what to save, and where.
type Save struct {
	Message string // of the commit; required
	Author  string // of the commit, as "name <address>"; empty means hako <hako@localhost>
	// Key becomes the trailer "Hako-Task: KEY" of the message, which identifies a commit that was already pushed. It
	// is required.
	Key  string
	Ref  string // where the commit goes: refs/heads/... or refs/hako/...
	Mine bool   // the reference is ours alone: it is replaced. False means that it must be at an ancestor
	Drop string // a reference refs/hako/... to remove with it; empty means none
	// Guard are files that a commit on refs/heads/... must not change: paths in the repository; a trailing / means a
	// directory. Nil means none.
	Guard []string
}

// An Origin is a container that a repository was cloned into.
type Origin struct {
	Guest  guest.Executor
	Dir    string // of the project
	Source Source // what was cloned, with the address of [Checkout.URL]
	Commit string // see [Checkout.Commit]
	Key    string // see [Checkout.Key]
	// Kept is what was saved so far, by reference. Nil means nothing.
	Kept map[string]Kept
}

// Kept is the outcome of a save.
type Kept struct {
	Commit     string // of the reference; empty means that there was nothing to save
	Head, Tree string // the checked-out commit in the container, and the tree of its files
}

// Save saves the changes of a project to a reference. On refs/hako/... it keeps the commits that were made inside; on
// refs/heads/... everything becomes one commit on the cloned one, with our author and message. Nothing is pushed if
// nothing changed, or if it was saved before. The container is not changed. Progress may be nil.
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

// Check refuses what cannot be saved, or would make git do something else.
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

func invalidGuard(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return path == "." || !fs.ValidPath(path)
}

// public reports whether people see the reference.
func (s Save) public() bool { return strings.HasPrefix(s.Ref, heads) }

// hakoRefs is the prefix of references that people do not see.
const hakoRefs = "refs/hako/"

// invalidRef reports whether a reference has none of the prefixes, or is invalid.
func invalidRef(ref string, places ...string) bool {
	for _, place := range places {
		if strings.HasPrefix(ref, place) {
			return refProblem(ref) != ""
		}
	}
	return true
}

// save takes the changes out of a container, and pushes them.
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

// has reports whether the container was cloned from the result of this save, whose process was killed after the push.
// The key alone proves nothing: anybody can write it into a pull request, but cannot push to the branch.
func (o Origin) has(s Save) bool {
	return !s.Mine && o.Key == s.Key && o.Source.Start == "" && o.Source.Commit == "" && s.Ref == heads+o.Source.Branch
}

// dropKept removes a reference that is known to exist, when nothing is pushed.
func (j *cloneJob) dropKept(ctx context.Context, o Origin, ref string) error {
	if o.Kept[ref].Commit == "" {
		return nil
	}
	return j.dropAlone(ctx, o, ref)
}

// dropAlone removes a reference, if one is given.
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

// finish returns the commit to push; empty means that there is nothing to push, and s.Drop was removed.
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

func (b *saveRepo) newCommit(s Save, tree, parent, trailers string) commitText {
	who := cmp.Or(s.Author, defaultAuthor) + " " + strconv.FormatInt(time.Now().Unix(), 10) + " +0000"
	return commitText("tree " + tree + "\nparent " + parent + "\nauthor " + who + "\ncommitter " + who + "\n\n" +
		withKey(b.git.secrets.Text(s.Message), s.Key) + trailers)
}

// base returns the commit that the work began from. In a container that continues saved work, that is not the cloned
// commit: commits that were made inside may be between them. The saved commit names it in a trailer.
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
