package policy

import "testing"

// Git subcommands that only look do not talk to other machines unasked.
func TestGitTalksToNobodyUnasked(t *testing.T) {
	p := hostPolicy()
	for _, src := range []string{
		"git remote show origin", "git remote -v show origin", "git remote show origin upstream", "git remote -- show origin",
		"git -C sub remote show origin",
		`git remote show "$name"`, "r=show; git remote $r origin", "env git remote show origin", "ls | xargs git remote show",
		"find . -exec git remote show origin ';'",
		"echo origin | xargs -I{} git remote show {}", "eval git remote show origin", "x=$(git remote show origin)",
		"git remote show https://example.com/x.git",
		"git remote update", "git remote -v update", "git remote update origin", "git remote prune origin",
		"git remote prune -n origin", "git remote prune --dry-run origin",
		"git remote set-head origin -a", "git remote set-head origin --auto", "git remote set-head -a origin",
		"git remote add -f x https://example.com/x.git", "git remote add --fetch x https://example.com/x.git",
		"git ls-remote", "git ls-remote origin", "git ls-remote --heads origin", "git fetch --dry-run", "git fetch -n",
		"git fetch --all", "git pull --dry-run", "git push -n", "git push --dry-run",
		"git submodule update", "git submodule update --init", "git submodule -q update",
		"git submodule add https://example.com/x.git", "git submodule foreach git fetch",
		"git submodule set-url a https://example.com/x.git",
		"git submodule nonesuch", "git archive --remote=origin HEAD", "git archive --remote origin HEAD",
		"git clone https://example.com/x.git", "git request-pull main origin", "git send-email x", "git fetch-pack origin",
		"git remote-https origin", "git remote-http origin https://example.com", "git http-fetch x", "git send-pack origin",
		"git bisect run git fetch", "git maintenance run --task=prefetch", "git backfill", "git lfs fetch",
	} {
		if vs, err := p.Script(src); err != nil || Strictest(vs) == Allow && !anyLate(vs) {
			t.Errorf("%s: %v %+v", src, err, vs)
		}
	}
	for _, argv := range [][]string{{"git", "remote", "show", "origin"}, {"git", "remote", "-v", "show", "origin"},
		{"git", "-C", "sub", "remote", "show", "origin"}} {
		if v := p.Call(argv); v.Effect != Ask || v.Why == "" || v.Where == "" || v.Hint == "" {
			t.Errorf("%q: %+v", argv, v)
		}
	}
	for _, src := range []string{
		"git remote", "git remote -v", "git remote show", "git remote show -n origin", "git remote show origin -n",
		"git remote get-url origin", "git remote add x https://example.com/x.git", "git remote remove x",
		"git remote rename a b",
		"git submodule", "git submodule status", "git submodule status --recursive", "git submodule init",
		"git submodule summary", "git archive HEAD", "git log --remotes", "git branch -r",
	} {
		if vs, err := p.Script(src); err != nil || Strictest(vs) != Allow {
			t.Errorf("%s: %v %+v", src, err, vs)
		}
	}
}

func anyLate(vs []Verdict) bool {
	for _, v := range vs {
		if v.Late {
			return true
		}
	}
	return false
}
