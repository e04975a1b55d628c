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

// git runs the git program outside of containers. It must not do anything that a repository, a server or a user's
// settings ask for.
type git struct {
	program  string
	home     string   // private; contains no repository
	environ  []string // without the settings
	secrets  *redact.Set
	progress func(string)
}

type setting struct{ name, value string }

// safeSettings are the settings of every git outside.
func safeSettings() []setting {
	return append([]setting{
		{"protocol.allow", "never"}, {"protocol.http.allow", "always"}, {"protocol.https.allow", "always"},
		{"http.followRedirects", "false"}, // a redirect would send the token to another host
		{"core.hooksPath", os.DevNull}, {"core.askPass", ""}, {"credential.helper", ""},
		{"safe.bareRepository", "explicit"},                       // only the one that we name
		{"fetch.unpackLimit", "1"}, {"transfer.unpackLimit", "1"}, // always keep packs: they are sent into containers
		{"gc.auto", "0"}, {"maintenance.auto", "false"}, {"fetch.writeCommitGraph", "false"},
		{"transfer.bundleURI", "false"}, {"submodule.recurse", "false"},
		{"advice.detachedHead", "false"}, {"init.defaultBranch", "main"}, {"init.templateDir", ""},
		{"fetch.fsckObjects", "true"},
	}, fsckSettings()...)
}

// fsckSettings ignore mistakes that old programs have put into the history of many honest repositories. Paths that
// pose as git's own are refused, although git itself only warns.
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

// Message IDs of git fsck.
var (
	mistakes = []string{"badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "missingEmail",
		"missingNameBeforeEmail", "missingSpaceBeforeDate", "missingSpaceBeforeEmail", "missingTaggerEntry",
		"multipleAuthors",
		"zeroPaddedDate", "zeroPaddedFilemode", "nulInCommit"}
	attacks = []string{"hasDot", "hasDotdot", "hasDotgit", "fullPathname", "emptyName"}
)

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

// The first git that takes settings from its environment. An older one would silently ignore them.
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
	settings []setting // in addition to safeSettings
	stdin    string
	input    io.Reader // instead of stdin; nil means that one
	stdout   io.Writer // nil means discard
	lock     *os.File  // inherited by git, so that it stays locked until git has ended; nil means none
}

// A failure is an error of git with its sanitized output.
type failure struct {
	verb string
	text string
	err  error
}

func (f *failure) Error() string { return "git " + f.verb + ": " + cmp.Or(f.text, f.err.Error()) }
func (f *failure) Unwrap() error { return f.err }

// killDelay is how long a killed git may take to end.
const killDelay = 5 * time.Second

// location returns the directory that git runs in, and its repository, which may not exist. It is always set: a git
// that searches for a repository would obey the settings of one that somebody put in the way, and send the token to
// the proxy they name.
func (g *git) location(c call) (dir, repository string) {
	if c.dir != "" {
		return c.dir, c.dir
	}
	return g.home, filepath.Join(g.home, "none")
}

func (g *git) run(ctx context.Context, c call) error {
	cmd := exec.CommandContext(ctx, g.program, c.args...)
	dir, repository := g.location(c)
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

// environ passes settings as variables: other users could see arguments.
func environ(all []setting) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}
	for i, s := range all {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s.name, "GIT_CONFIG_VALUE_"+n+"="+s.value)
	}
	return env
}
