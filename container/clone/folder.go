package clone

import (
	"bytes"
	"context"
	"strings"

	"hako/run/fault"
)

// maxFolder is the maximum size of a folder that is read without cloning.
const maxFolder = 32 << 20

// A Folder is a directory of a repository: its files, links and modes.
type Folder struct {
	ID  string // hash of its contents; empty means that there is no such folder
	Tar []byte // an archive with names relative to the folder
}

// Folder reads a folder of a repository without cloning it. Progress may be nil.
func (s *Store) Folder(ctx context.Context, src Source, name string, progress func(string)) (Folder, error) {
	var found Folder
	err := s.ask(ctx, src, progress, func(ctx context.Context, j *cloneJob, at remoteRefs) error {
		return j.retryStale(func() (err error) {
			found, err = j.folder(ctx, at, name)
			return err
		})
	})
	return found, err
}

// Reach checks that a source can be cloned: that the repository and the branch exist and the token is accepted.
func (s *Store) Reach(ctx context.Context, src Source) error {
	return s.ask(ctx, src, nil, func(context.Context, *cloneJob, remoteRefs) error { return nil })
}

func (j *cloneJob) folder(ctx context.Context, at remoteRefs, name string) (Folder, error) {
	c, err := j.open(ctx, at)
	if err != nil {
		return Folder{}, err
	}
	defer c.close()
	l, err := c.load(ctx, at)
	if err != nil {
		return Folder{}, c.discardIfDamaged(err)
	}
	defer l.close()
	f, err := c.pack(ctx, l.Commit, name)
	if err != nil {
		return Folder{}, c.discardIfDamaged(err)
	}
	return f, nil
}

// pack archives a folder of a commit.
func (c *cache) pack(ctx context.Context, commit, name string) (Folder, error) {
	var line bytes.Buffer
	if err := c.local(ctx, "", &line, "ls-tree", "--full-tree", commit, "--", name); err != nil {
		return Folder{}, err
	}
	fields := strings.Fields(line.String()) // mode, kind, id, name
	if len(fields) < 3 || fields[1] != "tree" {
		return Folder{}, nil
	}
	tree := fields[2]
	small := *c.cloneJob.Store
	small.MaxBytes, small.MaxFiles = maxFolder, 1000
	job := *c.cloneJob
	job.Store = &small
	if _, err := (&cache{cloneJob: &job, dir: c.dir, lock: c.lock}).count(ctx, tree); err != nil {
		if fault.KindOf(err) == fault.TooLarge {
			err = folderTooLarge(name)
		}
		return Folder{}, err
	}
	// Files were counted, directories were not: a chain of them in many places makes an archive of any size.
	out := &limitedBuffer{limit: 2 * maxFolder}
	err := c.git.run(ctx, call{args: []string{"archive", "--format=tar", tree}, dir: c.repository(), lock: c.lock,
		stdout: out})
	if out.full {
		return Folder{}, folderTooLarge(name)
	}
	return Folder{tree, out.buf.Bytes()}, err
}

func folderTooLarge(name string) error {
	return &fault.Error{Kind: fault.TooLarge, Op: "read folder", Subject: name,
		Why: "it is larger than 32 MB, or has more than 1000 files", Hint: "keep only what its Dockerfile needs in it"}
}
