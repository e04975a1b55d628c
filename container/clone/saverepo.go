package clone

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"hako/run/fault"
)

// A saveRepo is a temporary repository for one save: the cloned commits, and those from the container.
type saveRepo struct {
	*cache
}

// newSaveRepo creates the repository, adds the pack and checks it.
func (j *cloneJob) newSaveRepo(ctx context.Context, o Origin, p *incomingPack) (*saveRepo, error) {
	if err := j.git.checkVersion(ctx); err != nil {
		return nil, err
	}
	if err := p.makeDir(); err != nil {
		return nil, cacheFault(j.Dir, "it cannot be written", err)
	}
	b := &saveRepo{&cache{cloneJob: j, dir: p.dir.Path}}
	if err := b.initEmpty(o.Commit); err != nil {
		return nil, cacheFault(j.Dir, "it cannot be written", err)
	}
	if err := j.retryStale(func() error { return b.addBase(ctx, o.Commit) }); err != nil {
		return nil, err
	}
	if p.pack == nil {
		return b, nil
	}
	if err := b.add(ctx, p); err != nil {
		return nil, err
	}
	return b, b.inspect(ctx, o.Commit, p)
}

func (b *saveRepo) initEmpty(commit string) error {
	dir := b.repository()
	for _, name := range []string{"refs", filepath.Join("objects", "pack"), filepath.Join("objects", "info")} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return err
		}
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600),
		os.WriteFile(filepath.Join(dir, "config"), []byte(insideConfig(commit)+"[core]\n\tbare = true\n"), 0o600))
}

// addBase adds the cloned commit from the cache, or fetches it again. Hard links keep its packs, whatever others do
// to the cache.
func (b *saveRepo) addBase(ctx context.Context, commit string) error {
	at := remoteRefs{branch: commit, commits: map[string]string{commit: commit}, from: map[string]string{commit: commit}}
	c, err := b.cloneJob.open(ctx, at)
	if err != nil {
		return err
	}
	defer c.close()
	if err := c.recover(ctx, at); err != nil {
		return c.discardIfDamaged(err)
	}
	if err := c.linkPacks(b.cache); err != nil {
		return cacheFault(b.Dir, "it cannot be written", err)
	}
	return nil
}

// recover fetches a commit that the cache has lost.
func (c *cache) recover(ctx context.Context, at remoteRefs) error {
	if c.local(ctx, "", nil, "cat-file", "-e", at.branch+"^{tree}") == nil {
		return nil
	}
	wanted := *c.cloneJob
	wanted.src.Commit = at.branch
	_, err := (&cache{cloneJob: &wanted, dir: c.dir, lock: c.lock}).fetch(ctx, at)
	return err
}

// linkPacks adds the packs of a repository to another one, with its shallow boundary.
func (c *cache) linkPacks(to *cache) error {
	for _, name := range packNames(c.packs()) {
		for _, ending := range []string{".pack", ".idx"} {
			if err := linkOrCopy(filepath.Join(c.packs(), name+ending), filepath.Join(to.packs(), name+ending)); err != nil {
				return err
			}
		}
	}
	border, err := os.ReadFile(filepath.Join(c.repository(), "shallow"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to.repository(), "shallow"), border, 0o600)
}

// linkOrCopy hard-links a file, or copies it if that fails.
func linkOrCopy(from, to string) error {
	if err := os.Link(from, to); err == nil || errors.Is(err, os.ErrExist) {
		return nil
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// add adds the pack. Git checks that every object is valid, and that none is missing.
func (b *saveRepo) add(ctx context.Context, p *incomingPack) error {
	limit := cmp.Or(b.MaxBytes, defaultBytes)
	if err := checkPack(p.pack, limit); errors.Is(err, errHuge) {
		return &fault.Error{Kind: fault.TooLarge, Op: opSave, Subject: b.subject, Why: "the changes are larger than " +
			bytesText(limit), Hint: "have large files removed or put into .gitignore, or raise the size of a repository"}
	} else if err != nil {
		return invalidPack("the container sent invalid data", err)
	}
	if _, err := p.pack.Seek(0, io.SeekStart); err != nil {
		return err
	}
	err := b.git.run(ctx, call{args: []string{"index-pack", "--stdin", strictness()}, dir: b.repository(), input: p.pack})
	var f *failure
	if errors.As(err, &f) {
		return invalidPack("the changes contain malformed git objects, which could be an attack", f)
	}
	return err
}

// strictness is the option for the same checks as for fetched objects.
func strictness() string {
	var all []string
	for _, m := range mistakes {
		all = append(all, m+"=ignore")
	}
	for _, a := range attacks {
		all = append(all, a+"=error")
	}
	return "--strict=" + strings.Join(all, ",")
}

// inspect checks that a pack contains what it claims, continues from the cloned commit, and is within the limits: a
// small tree can stand for any number of files.
func (b *saveRepo) inspect(ctx context.Context, base string, p *incomingPack) error {
	var kinds bytes.Buffer
	if err := b.local(ctx, p.head+"\n"+p.tree+"\n", &kinds, "cat-file", "--batch-check=%(objecttype)"); err != nil ||
		kinds.String() != "commit\ntree\n" {
		return invalidPack("objects are missing in the pack", err)
	}
	if p.head != base && b.local(ctx, "", nil, "merge-base", "--is-ancestor", base, p.head) != nil {
		return &fault.Error{Kind: fault.Invalid, Op: opSave, Subject: b.subject,
			Why:  "what is checked out in the container does not go on from the commit that was cloned, " + base,
			Hint: "git rebase or git merge " + base + " in the container: commits that others have are not rewritten"}
	}
	_, err := b.count(ctx, p.tree)
	return err
}

func (b *saveRepo) commit(ctx context.Context, text commitText) (string, error) {
	var out bytes.Buffer
	if err := b.local(ctx, string(text), &out, "hash-object", "-t", "commit", "-w", "--stdin"); err != nil {
		return "", err
	}
	return strings.TrimSpace(out.String()), nil
}
