package clone

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/internal/redact"
	"hako/run/fault"
)

// git is the program outside, which must do nothing that a repository, a server
// or somebody's settings would like it to.
type git struct {
	program  string
	home     string   // of nobody else; there is no repository in it
	environ  []string // all of it but the settings
	secrets  *redact.Set
	progress func(string)
}

// A setting is a line of configuration.
type setting struct{ name, value string }

// safeSettings are the settings of every git outside.
func safeSettings() []setting {
	return append([]setting{
		{"protocol.allow", "never"}, {"protocol.http.allow", "always"}, {"protocol.https.allow", "always"},
		{"http.followRedirects", "false"}, // the header with the token would go along to whatever host is named
		{"core.hooksPath", os.DevNull}, {"core.askPass", ""}, {"credential.helper", ""},
		{"safe.bareRepository", "explicit"},                       // only the one that we name
		{"fetch.unpackLimit", "1"}, {"transfer.unpackLimit", "1"}, // always packs: they are what is sent in
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"fetch.writeCommitGraph", "false"},
		{"transfer.bundleURI", "false"}, {"submodule.recurse", "false"},
		{"advice.detachedHead", "false"}, {"init.defaultBranch", "main"}, {"init.templateDir", ""},
		{"fetch.fsckObjects", "true"},
	}, fsckSettings()...)
}

// fsckSettings is for mistakes that old and other programs have put into the history of many honest repositories, and
// which harm nobody. What would take a path for git's own is refused, although git itself only warns of it.
func fsckSettings() []setting {
	var all []setting
	for _, mistake := range mistakes {
		all = append(all, setting{"fetch.fsck." + mistake, "ignore"})
	}
	for _, attack := range attacks {
		all = append(all, setting{"fetch.fsck." + attack, "error"})
	}
	return all
}

// What git calls them.
var (
	mistakes = []string{"badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "missingEmail",
		"missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry",
		"multipleAuthors",
		"zeroPaddedDate", "zeroPaddedFilemode", "nulInCommit"}
	attacks = []string{"hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName"}
)

// proxyVariables say how to get out of a company's network.
var proxyVariables = []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}

func (s *Store) git(home string, progress func(string)) (*git, error) {
	program, err := exec.LookPath(cmp.Or(s.Git, "git"))
	if err != nil {
		return nil, &fault.Error{Kind: fault.Unavailable, Op: "clone", Why: "git is not installed on this machine",
			Hint: "install it, for example with apt install git"}
	}
	g := &git{program: program, home: home, secrets: &redact.Set{}, progress: progress}
	g.secrets.Add(s.Keys.Secrets()...)
	g.environ = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "LC_ALL=C", "TZ=UTC",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_ASKPASS=", "SSH_ASKPASS=",
		"GIT_PROTOCOL_FROM_USER=0", "GIT_NO_REPLACE_OBJECTS=1", "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_CEILING_DIRECTORIES=" + filepath.Dir(home)}
	for _, pair := range s.Environ {
		if name, _, _ := strings.Cut(pair, "="); slices.Contains(proxyVariables, strings.ToUpper(name)) {
			g.environ = append(g.environ, pair)
		}
	}
	g.environ = append(g.environ, system()...)
	return g, nil
}

// oldest is the first git that takes settings from its environment. An older one
// would do without them and without a word.
const oldestMajor, oldestMinor = 2, 31

func (g *git) checkVersion(ctx context.Context) error {
	var out bytes.Buffer
	err := g.run(ctx, call{args: []string{"version"}, stdout: &out})
	if err != nil {
		return err
	}
	major, minor := parseVersion(out.String())
	if major > oldestMajor || major == oldestMajor && minor >= oldestMinor {
		return nil
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "clone", Why: "git on this machine is too old (" +
		oneLine(strings.TrimSpace(out.String())) + ")",
		Hint: "install git 2.31 or later"}
}

func parseVersion(text string) (major, minor int) {
	parts := strings.Split(strings.TrimPrefix(strings.TrimSpace(text), "git version "), ".")
	if len(parts) >= 2 {
		major, _ = strconv.Atoi(parts[0])
		minor, _ = strconv.Atoi(parts[1])
	}
	return major, minor
}

// A call is one run of git.
type call struct {
	args     []string
	dir      string    // of the repository; empty means none
	settings []setting // besides the tame ones
	stdin    string
	input    io.Reader // instead of stdin; nil means that one
	stdout   io.Writer // nil means discard
	lock     *os.File  // held by git too, so that it is not free before git has ended; nil means none
}

// A failure is what git had to say, made harmless.
type failure struct {
	verb string
	text string
	err  error
}

func (f *failure) Error() string { return "git " + f.verb + ": " + cmp.Or(f.text, f.err.Error()) }
func (f *failure) Unwrap() error { return f.err }

// killDelay is how long a killed git may take to be gone.
const killDelay = 5 * time.Second

// linkOrCopy returns where git is run, and the repository that it takes for its own. It is always told one, be it one
// that is not there: left to look around by itself it would obey the settings of whatever repository somebody has
// made of the directory it is in, and show the token to the proxy that they name.
func (g *git) place(c call) (dir, repository string) {
	if c.dir != "" {
		return c.dir, c.dir
	}
	return g.home, filepath.Join(g.home, "none")
}

func (g *git) run(ctx context.Context, c call) error {
	cmd := exec.CommandContext(ctx, g.program, c.args...)
	dir, repository := g.place(c)
	cmd.Dir, cmd.Env = dir, append(slices.Clone(g.environ), environ(append(safeSettings(), c.settings...))...)
	cmd.Env = append(cmd.Env, "GIT_DIR="+repository)
	output := &gitOutput{clean: g.secrets.Text, progress: g.progress}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = strings.NewReader(c.stdin), c.stdout, output, killDelay
	if c.input != nil {
		cmd.Stdin = c.input
	}
	group(cmd, c.lock)
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return &failure{c.args[0], output.text(), err}
}

// environ spells settings as variables: nobody else sees them there, as he would among the arguments.
func environ(all []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for i, s := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.name, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}
