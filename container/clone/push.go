package clone

import (
	"context"
	"errors"
	"strings"

	"hako/internal/text"
	"hako/run/fault"
)

// errBehind means that a reference is not at an ancestor.
var errBehind = errors.New("it was changed by somebody else")

// send pushes a commit, unless that was done before, and returns the commit of the reference.
func (b *saveRepo) send(ctx context.Context, commit string, s Save) (string, error) {
	err := b.pushBoth(ctx, commit, s)
	if errors.Is(err, errBehind) && s.Mine {
		err = b.pushBoth(ctx, commit, s) // it lost a race
	}
	if !errors.Is(err, errBehind) {
		return commit, err
	}
	return b.earlier(ctx, s)
}

// pushBoth pushes a commit and removes the reference s.Drop: atomically if the server supports it.
func (b *saveRepo) pushBoth(ctx context.Context, commit string, s Save) error {
	refspec := commit + ":" + s.Ref
	if s.Mine {
		refspec = "+" + refspec
	}
	if s.Drop == "" {
		return b.push(ctx, refspec)
	}
	if b.push(ctx, "--atomic", refspec, ":"+s.Drop) == nil || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	err := b.push(ctx, refspec)
	if err == nil {
		b.drop(ctx, s.Drop)
	}
	return err
}

// drop removes one of our references. It does no harm if that fails.
func (b *saveRepo) drop(ctx context.Context, ref string) { _ = b.push(ctx, ":"+ref) }

// push runs git push with exactly these options and refspecs.
func (b *saveRepo) push(ctx context.Context, words ...string) error {
	b.progress("pushing to " + b.url.Host)
	args := []string{"push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed"}
	var refspecs []string
	for _, word := range words {
		if strings.HasPrefix(word, "--") {
			args = append(args, word)
		} else {
			refspecs = append(refspecs, word)
		}
	}
	out := &limitedBuffer{limit: 64 << 10}
	err := b.runOnline(ctx, call{args: append(append(args, b.url.String()), refspecs...), dir: b.repository(),
		stdout: out})
	var f *failure
	if !errors.As(err, &f) {
		return err
	}
	return b.refusal(out.String(), f)
}

// refusal explains a refused push.
func (b *saveRepo) refusal(report string, f *failure) error {
	reason := ""
	for line := range strings.Lines(report) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) == 3 && fields[0] == "!" {
			reason = fields[2]
			break
		}
	}
	switch {
	case reason == "" || strings.HasPrefix(reason, "[remote failure]"):
		return b.explain(f)
	case strings.HasPrefix(reason, "[rejected]") || isRace(reason):
		return errBehind
	}
	return &fault.Error{Kind: fault.Denied, Op: opSave, Subject: b.subject, Why: "the server refused the push",
		Err:  outputError(b.quoted(reason, f)),
		Hint: "see that the token may push there and that the branch is not protected"}
}

// isRace reports whether a push was refused because of a concurrent update.
func isRace(reason string) bool {
	for _, words := range []string{"non-fast-forward", "fetch first", "cannot lock ref", "failed to update ref",
		"incorrect old value", "reference already exists"} {
		if strings.Contains(reason, words) {
			return true
		}
	}
	return false
}

const maxQuote = 600

// quoted returns a server's message, sanitized.
func (b *saveRepo) quoted(reason string, f *failure) string {
	quote := b.git.secrets.Text(reason)
	if f.text != "" {
		quote += "; " + f.text
	}
	return text.Line(quote, maxQuote)
}

// foundRef is the local name of what was fetched last.
const foundRef = "refs/hako/found"

// fetchOne fetches a reference, or a commit by its hash, without its history.
func (b *saveRepo) fetchOne(ctx context.Context, what string) error {
	return b.explain(b.runOnline(ctx, call{dir: b.repository(),
		args: []string{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
			"--no-auto-gc", b.url.String(), "+" + what + ":" + foundRef}}))
}

// have fetches a commit if it is missing.
func (b *saveRepo) have(ctx context.Context, commit string) error {
	if b.local(ctx, "", nil, "cat-file", "-e", commit+"^{tree}") == nil {
		return nil
	}
	return b.fetchOne(ctx, commit)
}

// earlier returns the commit of a reference if it has our key: then a process that was killed has pushed it.
func (b *saveRepo) earlier(ctx context.Context, s Save) (string, error) {
	if err := b.fetchOne(ctx, s.Ref); err != nil {
		return "", err
	}
	text, err := b.commitText(ctx, foundRef)
	if err != nil {
		return "", err
	}
	tip, err := b.resolve(ctx, foundRef)
	if err != nil {
		return "", err
	}
	if text.key() == s.Key {
		if s.Drop != "" {
			b.drop(ctx, s.Drop)
		}
		return tip, nil
	}
	name := strings.TrimPrefix(s.Ref, heads)
	return "", &fault.Error{Kind: fault.Invalid, Op: opSave, Subject: b.subject, Why: "the branch " + oneLine(name) +
		" was changed by somebody else meanwhile",
		Hint: "look at what is there now, and start again from it"}
}

func (b *saveRepo) resolve(ctx context.Context, ref string) (string, error) {
	out := &limitedBuffer{limit: 100}
	err := b.git.run(ctx, call{args: []string{"rev-parse", "--verify", ref}, dir: b.repository(), stdout: out})
	return strings.TrimSpace(out.String()), err
}
