package host

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// environment is the environment of every program. It contains nothing of hako's own environment, which has keys.
func (r *Runner) environment() []string {
	temp := r.Status().TempDir
	env := []string{
		"PATH=" + strings.Join(r.search.path, ":"), "HOME=" + temp + "/home", "TMPDIR=" + temp,
		"LANG=C.UTF-8", "USER=" + userName(), "LOGNAME=" + userName(), "SHELL=/bin/sh", "TERM=dumb", "PAGER=cat",
	}
	if !r.o.Network {
		env = append(env, offline...)
	}
	for _, dir := range r.o.Readable {
		if strings.HasSuffix(dir, "/pkg/mod") {
			env = append(env, "GOMODCACHE="+dir)
		}
	}
	return append(env, r.o.Env...)
}

// offline makes package managers fail fast without a network.
var offline = []string{"GOPROXY=off", "GOTOOLCHAIN=local", "CARGO_NET_OFFLINE=true", "npm_config_offline=true",
	"PIP_NO_INDEX=1", "PIP_DISABLE_PIP_VERSION_CHECK=1"}

func userName() string {
	if os.Getuid() == 0 {
		return "root"
	}
	return "user"
}

// programEnv returns the exported variables of the script without dangerous ones, and with safe settings for git.
func (r *Runner) programEnv(exported []string, dir string) []string {
	env := slices.DeleteFunc(exported, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "PATH" || name == "PWD" || name == "OLDPWD" && dir == "" || commands(name)
	})
	env = append(env, "PATH="+strings.Join(r.search.path, ":"), "PWD="+dir)
	return append(env, gitEnv(r.o.Root)...)
}

// commands reports whether a variable can make programs run or load something.
func commands(name string) bool {
	for _, prefix := range []string{"LD_", "DYLD_", "BASH_FUNC_"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "GCONV_PATH", "LOCPATH", "NLSPATH",
		"HOSTALIASES", "RESOLV_HOST_CONF":
		return true
	}
	return strings.HasPrefix(name, "GIT_") && !strings.HasPrefix(name, "GIT_AUTHOR_") &&
		!strings.HasPrefix(name, "GIT_COMMITTER_")
}

// gitSettings override those of a repository, which can come from anywhere and name programs to run.
var gitSettings = [][2]string{
	{"core.hooksPath", "/dev/null"}, {"core.fsmonitor", "false"}, {"core.pager", "cat"}, {"core.editor", "true"},
	{"sequence.editor", "true"},
	{"core.askPass", "false"}, {"core.sshCommand", "false"}, {"core.attributesFile", "/dev/null"},
	{"credential.helper", ""},
	{"commit.gpgSign", "false"}, {"tag.gpgSign", "false"}, {"log.showSignature", "false"}, {"gpg.program", "false"},
	{"protocol.ext.allow", "never"}, {"safe.bareRepository", "explicit"}, {"submodule.recurse", "false"},
	{"uploadpack.packObjectsHook", ""},
}

// gitEnv is the environment for git, also if another program starts it.
func gitEnv(root string) []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_PAGER=cat", "GIT_EDITOR=true", "GIT_ASKPASS=false", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(root),
		"GIT_NO_LAZY_FETCH=1", // a partial clone would fetch what git log or git show misses
		"GIT_CONFIG_COUNT=" + strconv.Itoa(len(gitSettings)),
	}
	for i, s := range gitSettings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	return env
}

// gitWords adds options that keep git from running a repository's diff and textconv programs.
func gitWords(argv []string) []string {
	showing := []string{"diff", "log", "show", "diff-tree", "diff-index", "diff-files", "whatchanged"}
	for i := 1; i < len(argv); i++ {
		switch {
		case argv[i] == "-C" || argv[i] == "-c":
			i++
		case strings.HasPrefix(argv[i], "-"):
		case slices.Contains(showing, argv[i]):
			return slices.Insert(slices.Clone(argv), i+1, "--no-ext-diff", "--no-textconv")
		case argv[i] == "blame" || argv[i] == "annotate":
			return slices.Insert(slices.Clone(argv), i+1, "--no-textconv")
		default:
			return argv
		}
	}
	return argv
}

// Identity returns the variables for git's author and committer from the user's settings, which programs do not see.
func Identity(home string) []string {
	name, email := os.Getenv("GIT_AUTHOR_NAME"), os.Getenv("GIT_AUTHOR_EMAIL")
	for _, file := range []string{filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config/git/config")} {
		n, e := gitUser(file)
		if name == "" {
			name = n
		}
		if email == "" {
			email = e
		}
	}
	if name == "" || email == "" {
		return nil
	}
	return []string{"GIT_AUTHOR_NAME=" + name, "GIT_AUTHOR_EMAIL=" + email, "GIT_COMMITTER_NAME=" + name,
		"GIT_COMMITTER_EMAIL=" + email}
}

// gitUser reads the name and email of a git configuration.
func gitUser(file string) (name, email string) {
	f, err := os.Open(file)
	if err != nil {
		return "", ""
	}
	defer f.Close()
	section := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(line, "[] "))
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch {
		case section != "user":
		case strings.TrimSpace(strings.ToLower(key)) == "name":
			name = value
		case strings.TrimSpace(strings.ToLower(key)) == "email":
			email = value
		}
	}
	return name, email
}
