package policy

import "strings"

const (
	gitDiffShort = "psuU:zRabwWM?C?B?DS:G:l:X?c#"
	gitDiffLong  = " patch no-patch unified: stat? numstat shortstat name-only name-status raw summary color? no-color word-diff? word-diff-regex: color-words? color-moved? minimal patience histogram diff-algorithm: anchored: cached staged merge-base ignore-space-at-eol ignore-space-change ignore-all-space ignore-blank-lines ignore-cr-at-eol no-renames find-renames? find-copies? diff-filter: exit-code quiet binary full-index abbrev? relative? text no-ext-diff no-textconv no-prefix src-prefix: dst-prefix: check dirstat? compact-summary function-context inter-hunk-context: pickaxe-all pickaxe-regex submodule? ignore-submodules? no-relative indent-heuristic ws-error-highlight: help "
	gitLogShort  = gitDiffShort + "n:gL:iEFPmt"
	gitLogLong   = gitDiffLong + "oneline graph no-graph decorate? no-decorate all branches? tags? remotes? max-count: skip: since: after: until: before: author: committer: grep: invert-grep all-match no-merges merges first-parent reverse date: pretty? format: abbrev-commit no-abbrev-commit follow left-right cherry cherry-pick cherry-mark topo-order date-order author-date-order full-history simplify-by-decoration source walk-reflogs regexp-ignore-case extended-regexp fixed-strings perl-regexp boundary parents children decorate-refs: notes? no-notes mailmap use-mailmap not root full-diff log-size date? "
)

// gitSubcommands are the git subcommands whose options are known. Which of
// them may run is for the rules to say.
var gitSubcommands = map[string]program{
	"status":       {short: "sbvu?z", long: "short branch verbose long porcelain? untracked-files? ignored? ignore-submodules? column? no-column ahead-behind no-ahead-behind renames no-renames find-renames? show-stash null"},
	"diff":         {short: gitDiffShort, long: gitDiffLong},
	"log":          {short: gitLogShort, long: gitLogLong},
	"show":         {short: gitLogShort, long: gitLogLong},
	"whatchanged":  {short: gitLogShort, long: gitLogLong},
	"reflog":       {short: gitLogShort, long: gitLogLong},
	"shortlog":     {short: "nsecw?#", long: "numbered summary email group: format: no-merges all since: until: author:", args: texts},
	"branch":       {short: "avrdDmMcCfu:liqt", long: "all list remotes verbose show-current contains? no-contains? merged? no-merged? sort: points-at: format: delete move copy force set-upstream-to: unset-upstream track? no-track color? no-color column? no-column ignore-case abbrev: no-abbrev quiet create-reflog", args: texts},
	"blame":        {short: "L:lbtfnspewM?C?c", long: "root show-stats porcelain line-porcelain incremental date: abbrev: show-name show-number show-email since: reverse first-parent color-lines color-by-age ignore-rev: progress no-progress"},
	"add":          {short: "AufnvNi", long: "all no-all update force dry-run verbose intent-to-add renormalize refresh ignore-errors ignore-removal no-ignore-removal chmod: sparse"},
	"commit":       {short: "m:F@aqvsnuC:c:", long: "message: file@ all quiet verbose signoff no-verify amend no-edit allow-empty allow-empty-message author: date: fixup: squash: reuse-message: reset-author only include dry-run short porcelain branch status no-status untracked-files? trailer: no-gpg-sign cleanup: no-signoff"},
	"ls-files":     {short: "cdmosikutvzfx:", long: "cached deleted modified others ignored stage unmerged killed directory no-empty-directory exclude-standard exclude: full-name error-unmatch eol deduplicate abbrev? format: recurse-submodules"},
	"ls-tree":      {short: "drtlz", long: "long name-only name-status full-name full-tree object-only abbrev? format:"},
	"rev-parse":    {short: "q", long: "short? abbrev-ref? symbolic-full-name symbolic verify quiet show-toplevel show-prefix show-cdup git-dir absolute-git-dir git-common-dir is-inside-work-tree is-inside-git-dir is-bare-repository is-shallow-repository all branches? tags? remotes? show-object-format? revs-only no-revs flags no-flags not"},
	"rev-list":     {short: "n:#", long: "count all max-count: since: until: author: grep: no-merges merges first-parent left-right objects reverse oneline parents left-only right-only cherry-pick abbrev-commit skip: branches? tags? remotes?"},
	"describe":     {long: "tags all always dirty? abbrev: long match: exclude: contains exact-match candidates: first-parent broken?", args: texts},
	"tag":          {short: "lan?m:dfi", long: "list annotate message: delete force sort: contains? no-contains? merged? no-merged? points-at: format: column? ignore-case no-sign", args: texts},
	"stash":        {short: "pqum:ak", long: "patch quiet include-untracked message: all keep-index no-keep-index index stat name-only", args: texts},
	"checkout":     {short: "bB:fqtdm", long: "quiet force track? no-track detach orphan: ours theirs merge conflict: no-guess guess progress no-progress ignore-other-worktrees overwrite-ignore"},
	"switch":       {short: "cC:dfqt", long: "create force-create: detach discard-changes force quiet track? no-track guess no-guess orphan: merge", args: texts},
	"restore":      {short: "s:SWq", long: "source: staged worktree quiet ours theirs ignore-unmerged"},
	"reset":        {short: "qN", long: "quiet soft mixed hard merge keep intent-to-add"},
	"mv":           {short: "fknv", long: "force dry-run verbose", writes: true},
	"rm":           {short: "fnrq", long: "force dry-run cached ignore-unmatch quiet", writes: true},
	"merge":        {short: "qm:nvs:X:", long: "ff no-ff ff-only squash no-squash commit no-commit abort continue quit message: no-edit quiet verbose stat no-stat strategy: strategy-option: no-verify log? allow-unrelated-histories", args: texts},
	"rebase":       {short: "qvs:X:", long: "abort continue skip quit onto: quiet verbose keep-base root autostash no-autostash no-verify stat no-stat strategy: strategy-option: rebase-merges? no-ff", args: texts},
	"cherry-pick":  {short: "nxsm:X:", long: "no-commit signoff abort continue skip quit mainline: allow-empty keep-redundant-commits strategy: strategy-option: no-gpg-sign", args: texts},
	"revert":       {short: "nm:s", long: "no-commit no-edit abort continue skip quit mainline: signoff", args: texts},
	"merge-base":   {short: "a", long: "all octopus independent is-ancestor fork-point", args: texts},
	"cat-file":     {short: "tspe", long: "batch-check? allow-unknown-type", args: texts},
	"grep":         {short: "nilLvwEFGPchHIaqe:A:B:C:W#", long: "line-number ignore-case files-with-matches name-only files-without-match invert-match word-regexp extended-regexp fixed-strings basic-regexp perl-regexp count cached untracked no-exclude-standard exclude-standard max-depth: heading break show-function function-context context: after-context: before-context: and or not all-match quiet color? no-color column full-name null only-matching text threads: max-count:", args: textFirst},
	"show-ref":     {short: "dqs?", long: "heads branches tags head verify hash? abbrev? dereference quiet", args: texts},
	"for-each-ref": {long: "count: sort: format: contains? merged? no-merged? points-at: ignore-case", args: texts},
	"diff-tree":    {short: gitLogShort + "rt", long: gitLogLong + " no-commit-id stdin "},
	"name-rev":     {long: "tags refs: all name-only always", args: texts}, "count-objects": {short: "vH", long: "verbose human-readable", args: nothing}, "check-ignore": {short: "vqn", long: "verbose quiet non-matching no-index"},
	"apply":   {short: "vRp:3", long: "stat numstat summary check index cached 3way reverse verbose recount ignore-whitespace ignore-space-change whitespace: exclude: include: reject directory@"},
	"init":    {short: "qb:", long: "quiet initial-branch: object-format:"},
	"remote":  {short: "vn", long: "verbose", args: texts},
	"config":  {short: "lz", long: "get get-all get-regexp list local show-origin show-scope name-only null type: bool int default: includes no-includes", args: texts},
	"fetch":   {short: "aqvptfnj:", long: "all quiet verbose prune prune-tags tags no-tags depth: deepen: unshallow force dry-run jobs: progress no-progress no-recurse-submodules atomic", args: texts},
	"pull":    {short: "qvr?", long: "quiet verbose rebase? no-rebase ff-only ff no-ff depth: all prune tags autostash no-autostash no-edit no-recurse-submodules progress no-progress", args: texts},
	"push":    {short: "uqvnf", long: "set-upstream quiet verbose dry-run all tags follow-tags delete force force-with-lease? atomic porcelain progress no-progress no-verify", args: texts},
	"clone":   {short: "qvb:no:j:", long: "quiet verbose branch: depth: single-branch no-single-branch no-checkout origin: no-tags progress shallow-since: filter: sparse jobs: no-recurse-submodules"},
	"version": {long: "build-options", args: nothing}, "help": {args: texts, short: "ag"}, "worktree": {short: "vf", long: "porcelain verbose", writes: true}, "clean": {short: "ndfxXqe:", long: "dry-run force quiet exclude:"},
	"format-patch": {short: "o@nksv:#", long: "output-directory@ stdout numbered signoff cover-letter subject-prefix: start-number:"},
	"archive":      {short: "o@v", long: "output@ format: prefix: list verbose"}, "ls-remote": {short: "htq", long: "heads branches tags refs quiet exit-code get-url symref sort:", args: texts},
	"bisect": {long: "no-checkout first-parent", args: texts}, "cherry": {short: "v", long: "verbose abbrev?", args: texts}, "range-diff": {short: gitDiffShort, long: gitDiffLong + "creation-factor: no-dual-color ", args: texts}, "submodule": {short: "q", long: "quiet cached recursive", args: texts}, "notes": {args: texts}, "fsck": {long: "full no-progress", args: texts},
}

// git judges git: the options before the subcommand by list, then the
// subcommand's own, then addresses and names.
func (c *command) git(args []word) *finding {
	args, f := c.gitGlobal(args)
	if f != nil || len(args) == 0 {
		return f
	}
	sub := args[0].text
	prog, ok := gitSubcommands[sub]
	if !ok {
		return refusal("git: "+sub, "nothing is known about this subcommand", "use a subcommand that the rules name")
	}
	a, f := c.sort("git "+sub, &prog, args[1:])
	if f != nil {
		return f
	}
	if f := c.gitWords(sub, a); f != nil {
		return f
	}
	return c.byOperands("git "+sub, &prog, a)
}

// gitGlobal judges the options before the subcommand. Options such as -c and
// --exec-path make git run other programs and are not on the list.
func (c *command) gitGlobal(args []word) ([]word, *finding) {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		switch args[0].text {
		case "--no-pager", "--version", "--no-optional-locks", "--literal-pathspecs", "--no-replace-objects", "--help", "-P", "-v":
			args = args[1:]
		case "-C":
			if len(args) < 2 {
				return nil, nil
			}
			if f := c.file(args[1], false); f != nil {
				f.where = "git: -C"
				return nil, f
			}
			c.goTo(args[1])
			args = args[2:]
		default:
			opt, _, _ := strings.Cut(args[0].text, "=")
			return nil, c.refused(opt, "this option can make git run other programs or leave the repository", "leave it out")
		}
	}
	return args, nil
}

// goTo notes that the command runs in another directory.
func (c *command) goTo(w word) {
	if w.late {
		c.dirs = nil
		return
	}
	if strings.HasPrefix(w.text, "/") {
		c.dirs = []string{w.text}
		return
	}
	out := make([]string, 0, len(c.dirs))
	for _, d := range c.dirs {
		c.cost.spend(costPath + costText*len(d))
		out = append(out, d+"/"+w.text)
	}
	c.dirs = out
}

// gitWords judges what lists can not say about a subcommand.
func (c *command) gitWords(sub string, a *arguments) *finding {
	for _, w := range a.operands {
		if strings.Contains(w.text, "::") && sub != "grep" && sub != "commit" && sub != "log" {
			return refusal("git: transport", "an address with :: names a program to run", "use an https address or the name of a remote")
		}
		if strings.Contains(w.text, "://") {
			if f := c.url(w); f != nil {
				return f
			}
		}
	}
	if s, ok := a.get("-s", "--strategy"); ok && (sub == "merge" || sub == "rebase" || sub == "cherry-pick") && !inList(" ort recursive resolve octopus ours subtree ", s.text) {
		return c.refused("--strategy", "a strategy of another name is a program", "use one of git's own, such as ort or ours")
	}
	first := ""
	if len(a.operands) > 0 {
		first = a.operands[0].text
	}
	switch sub {
	case "bisect":
		if first == "run" {
			return c.inner(a.operands[1:])
		}
		if first == "replay" {
			return c.anyFiles(a.operands[1:])
		}
	case "config":
		return c.gitConfig(a)
	case "fetch", "pull", "push", "clone", "ls-remote":
		return c.gitAddress(sub, a.operands)
	case "remote":
		return c.gitRemote(first, a)
	case "archive":
		if format, ok := a.get("--format"); ok && !inList(" tar zip tgz tar.gz ", format.text) {
			return c.refused("--format", "a format of another name is a program in git's settings", "use tar, tar.gz or zip")
		}
		if prefix, ok := a.get("--prefix"); ok && c.p.opts.Root != "" {
			return c.file(prefix, true) // tar x puts .git/hooks/ where it says
		}
	case "submodule":
		if first != "" && !inList(gitSubmoduleHere, first) {
			return refusal("git submodule: "+first, "it runs commands or fetches from elsewhere", "use git submodule status")
		}
	}
	return nil
}

// gitSubmoduleHere are the subcommands of git submodule that neither run commands
// nor talk to other machines.
const gitSubmoduleHere = " status init deinit summary sync set-branch absorbgitdirs "

// gitRemote judges git remote. Its list of names is here; what a remote has is
// not, and git remote show asks it, unless it is told not to.
func (c *command) gitRemote(first string, a *arguments) *finding {
	switch first {
	case "update", "prune":
		return refusal("git remote: "+first, "it talks to another machine", "use git remote -v to see the names")
	case "show":
		if _, here := a.get("-n"); here || len(a.operands) == 1 {
			return nil
		}
		return &finding{effect: Ask, where: "git remote: show", why: "it talks to another machine",
			hint: "a person has to agree; git remote show -n shows what is known here, and talks to nobody"}
	case "", "get-url":
		return nil
	}
	return c.gitAddress("remote", a.operands)
}

func (c *command) anyFiles(words []word) *finding {
	for _, w := range words {
		if f := c.file(w, false); f != nil {
			return f
		}
	}
	return nil
}

// gitConfig lets the configuration be read, and the name and address of the
// author be set. Most other settings can name a program to run.
func (c *command) gitConfig(a *arguments) *finding {
	_, get := a.get("--get", "--get-all", "--get-regexp", "--list", "-l")
	ops := a.operands
	if len(ops) > 0 && (ops[0].text == "get" || ops[0].text == "list") {
		return nil
	}
	if len(ops) > 0 && (ops[0].text == "edit" || ops[0].text == "unset") {
		return refusal("git config: "+ops[0].text, "settings of git can name programs that run later", "only read the settings")
	}
	if len(ops) > 0 && ops[0].text == "set" {
		ops = ops[1:]
	}
	if get || len(ops) < 2 {
		return nil
	}
	switch strings.ToLower(ops[0].text) {
	case "user.name", "user.email", "init.defaultbranch", "pull.rebase", "core.autocrlf", "core.filemode", "commit.gpgsign", "color.ui", "advice.detachedhead":
		return nil
	}
	return refusal("git config: "+ops[0].text, "settings of git can name programs that run later", "only user.name, user.email and a few plain settings can be set")
}

// gitAddress judges where git would talk to.
func (c *command) gitAddress(sub string, ops []word) *finding {
	for i, w := range ops {
		t := w.text
		if w.loose {
			return c.file(w, false)
		}
		if strings.Contains(t, "://") {
			continue // judged by its scheme
		}
		if at := strings.IndexByte(t, ':'); at >= 0 && i == 0 && sub != "remote" {
			return refusal("git: "+t, "the address would be reached through ssh", "use an https address or the name of a remote")
		}
		if f := c.file(w, sub == "clone"); f != nil && (strings.HasPrefix(t, "/") || goesUp(t) || i > 0) {
			return f
		}
	}
	return nil
}
