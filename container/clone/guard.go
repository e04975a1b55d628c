package clone

import (
	"context"
	"strings"

	"hako/run/fault"
)

// guard refuses a tree that changes guarded files, which run with the rights of the project once they are on a
// branch, like CI configuration. Otherwise a prompt injection, or a fork, could get these rights.
func (b *saveRepo) guard(ctx context.Context, o Origin, base, tree string, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	trusted, err := b.trusted(ctx, o, base)
	if err != nil {
		return err
	}
	out := &limitedBuffer{limit: maxRefs}
	args := append([]string{"--literal-pathspecs", "diff-tree", "-r", "-z", "--name-only", "--no-renames", trusted, tree,
		"--"}, tops(paths)...)
	if err := b.git.run(ctx, call{args: args, dir: b.repository(), stdout: out}); err != nil {
		return err
	}
	for name := range strings.SplitSeq(out.String(), "\x00") {
		if guarded(name, paths) {
			return &fault.Error{Kind: fault.Denied, Op: opSave, Subject: b.subject, Why: "it changes " + oneLine(name) +
				", which runs with the rights of the project",
				Hint: "make that change yourself, or set agent.ci_files: true"}
		}
	}
	return nil
}

// trusted returns a commit whose files were written by people with the rights of the project: the base if that was on
// a branch, else the current tip of the target branch.
func (b *saveRepo) trusted(ctx context.Context, o Origin, base string) (string, error) {
	if o.Source.Start == "" || strings.HasPrefix(o.Source.Start, heads) {
		return base, nil
	}
	target := "HEAD"
	if o.Source.Target != "" {
		target = heads + o.Source.Target
	}
	if err := b.fetchOne(ctx, target); err != nil {
		return "", err
	}
	return b.resolve(ctx, foundRef)
}

// tops returns the first elements of paths.
func tops(paths []string) (all []string) {
	for _, path := range paths {
		top, _, _ := strings.Cut(path, "/")
		all = append(all, top)
	}
	return all
}

// guarded reports whether a file is one of the paths, or replaces a directory above them: a link there would lead
// elsewhere.
func guarded(name string, paths []string) bool {
	for _, path := range paths {
		inside := strings.HasSuffix(path, "/") && strings.HasPrefix(name, path)
		if name != "" && (name == path || inside || strings.HasPrefix(path, name+"/")) {
			return true
		}
	}
	return false
}
