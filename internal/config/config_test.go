package config

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"hako/quota"
	"hako/run/fault"
)

// world is an environment and a directory that holds at most one settings file.
type world struct {
	dir string
	env map[string]string
}

func newWorld(t testing.TB, file string) world {
	w := world{t.TempDir(), map[string]string{}}
	w.env["HOME"] = filepath.Join(w.dir, "home")
	if file != "" {
		w.write(t, fileName, file)
	}
	return w
}

func (w world) write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(w.dir, name)
	os.MkdirAll(filepath.Dir(path), 0o755)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func (w world) source() Source {
	return Source{Dir: w.dir, Getenv: func(name string) (string, bool) { v, ok := w.env[name]; return v, ok }}
}

// named is the source of one who names the file.
func (w world) named() Source {
	src := w.source()
	src.File = filepath.Join(w.dir, fileName)
	return src
}

func TestDefaults(t *testing.T) {
	w := newWorld(t, "")
	c, err := Load(w.source())
	if err != nil {
		t.Fatal(err)
	}
	if v := AuditPath.Of(c); v.V != filepath.Join(w.dir, "home", ".local", "state", "hako", "audit.jsonl") ||
		v.From != "default" {
		t.Errorf("%+v", v)
	}
	if c.File != "" || ExecuteSize.Of(c).V != 4096 || ApprovalTimeout.Of(c).V != 5*time.Minute ||
		!AllowedUseDefault.Of(c).V || PolicyRules.Of(c).V != "" {
		t.Errorf("%+v", c.Show())
	}
	if l := c.Limits(quota.Strict()); l != quota.Strict() {
		t.Errorf("%+v", l)
	}
	w.env["XDG_STATE_HOME"] = "/var/state"
	c, _ = Load(w.source())
	if v := AuditPath.Of(c); v.V != filepath.FromSlash("/var/state/hako/audit.jsonl") {
		t.Errorf("%+v", v)
	}
	delete(w.env, "HOME")
	delete(w.env, "XDG_STATE_HOME")
	c, _ = Load(w.source())
	if v := AuditPath.Of(c); !filepath.IsAbs(v.V) {
		t.Errorf("without a home: %+v", v)
	}
}

const sample = `# comment
policy:
  profile: host
  rules: my.policy
  whitelist: ~/allowed.txt
command_executor:
  allowed_commands:
    use_default: false
    additional: [箱, jq]
    exclude:
      - curl
audit:
  path: /tmp/log.jsonl
limits:
  time: 30s
  memory: 64MB
quota: {calls: 7, wall: none}
execute: {size: 100, url_prefixes: ["https://example.com/docs/"]}
approval: {timeout: 60}
`

func TestFile(t *testing.T) {
	w := newWorld(t, sample)
	c, err := Load(w.named())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(w.dir, fileName)
	for _, check := range []struct{ got, want any }{
		{PolicyProfile.Of(c), Value[string]{"host", file + ":3"}},
		{PolicyRules.Of(c), Value[string]{filepath.Join(w.dir, "my.policy"), file + ":4"}},
		{PolicyWhitelist.Of(c).V, filepath.Join(w.dir, "home", "allowed.txt")},
		{AllowedUseDefault.Of(c).V, false},
		{AllowedAdditional.Of(c).V, []string{"箱", "jq"}},
		{AllowedExclude.Of(c).V, []string{"curl"}},
		{AuditPath.Of(c).From, file + ":13"},
		{c.Limits(quota.Lenient()).Time, 30 * time.Second},
		{c.Limits(quota.Lenient()).Memory, 64 << 20},
		{c.Budget(quota.DefaultLimits()).Calls, 7},
		{c.Budget(quota.DefaultLimits()).Wall, time.Duration(quota.NoLimit)},
		{ExecuteSize.Of(c).V, 100},
		{ApprovalTimeout.Of(c).V, time.Minute},
		{c.File, file},
	} {
		if fmt.Sprint(check.got) != fmt.Sprint(check.want) {
			t.Errorf("got %v, want %v", check.got, check.want)
		}
	}
}

func TestPrecedence(t *testing.T) {
	w := newWorld(t, "audit: {path: /from/file}\nlimits: {time: 1s}\n")
	w.env["HAKO_AUDIT"] = "/from/env"
	w.env["HAKO_LIMIT_TIME"] = "2s"
	c, err := Load(w.named())
	if err != nil {
		t.Fatal(err)
	}
	if v := AuditPath.Of(c); v != (Value[string]{"/from/env", "env HAKO_AUDIT"}) ||
		c.Limits(quota.Strict()).Time != 2*time.Second {
		t.Errorf("%+v", v)
	}
	if err := c.Set("audit.path", "--audit", "/from/flag"); err != nil {
		t.Fatal(err)
	}
	if v := AuditPath.Of(c); v != (Value[string]{"/from/flag", "flag --audit"}) {
		t.Errorf("%+v", v)
	}
	if err := c.Set("audit.pth", "--audit", "x"); err == nil {
		t.Error("an unknown setting was set")
	}
}

func TestWhichFile(t *testing.T) {
	w := newWorld(t, "")
	w.write(t, "home/.config/hako/hako.yaml", "execute: {size: 1}")
	other := w.write(t, "other.yaml", "execute: {size: 3}")
	size := func(src Source) string {
		c, err := Load(src)
		if err != nil {
			return err.Error()
		}
		return fmt.Sprint(ExecuteSize.Of(c).V)
	}
	if got := size(w.source()); got != "1" {
		t.Errorf("in the home: %s", got)
	}
	w.write(t, fileName, "execute: {size: 2}")
	if got := size(w.source()); got != "2" {
		t.Errorf("here: %s", got)
	}
	w.env["HAKO_CONFIG"] = other
	if got := size(w.source()); got != "3" {
		t.Errorf("by the environment: %s", got)
	}
	src := w.source()
	src.File = filepath.Join(w.dir, "none.yaml")
	if got := size(src); !strings.Contains(got, "none.yaml") {
		t.Errorf("a missing file: %s", got)
	}
	src.NoFile = true
	if got := size(src); got != "4096" {
		t.Errorf("none wanted: %s", got)
	}
}

func TestMistakes(t *testing.T) {
	for file, want := range map[string]string{
		"polcy: {}":                                  `hako.yaml:1: there is no setting "polcy" | did you mean policy?`,
		"a: 1\n":                                     `there is no setting "a" | hako config show`,
		"policy:\n  profil: x":                       `hako.yaml:2: there is no setting "policy.profil" | did you mean policy.profile?`,
		"audit: {enabled: false}":                    `there is no setting "audit.enabled"`,
		"policy: {profile: hst}":                     `"hst" is not one of virtual, host, container`,
		"limits: {time: soon}":                       `set limits.time: `,
		"limits: {tme: 1s}":                          "did you mean limits.time?",
		"execute: {size: 5000}":                      "from 1 to 4096",
		"execute: {size: [1]}":                       "execute.size must be a single value",
		"policy: host":                               "policy must hold names and values",
		"- a":                                        "the file must hold names and values",
		"audit: {path: a}\naudit: {path: b}":         "hako.yaml:2: audit is set twice",
		"audit: {path: ''}":                          "the name is empty",
		"execute: {url_prefixes: [example.com]}":     `"example.com" is not an address`,
		"execute: {url_prefixes: [[x]]}":             "must be a list of words",
		"approval: {timeout: -1s}":                   "not a time above zero",
		"quota: {calls: many}":                       "not a whole number",
		"x: [":                                       "read settings",
		"audit: {path: &a x}\npolicy: {profile: *a}": "aliases are not supported",
		"command_executor: {allowed_commands: {use_default: maybe}}": "neither true nor false",
	} {
		_, err := Load(newWorld(t, file).named())
		if got := fmt.Sprint(err, " | ", fault.Hint(err)); err == nil || !strings.Contains(got, want) {
			t.Errorf("%q\n got %s\nwant %s", file, got, want)
		}
	}
	for _, empty := range []string{"# nothing\n", "policy:\n", "audit: {path: }"} {
		if _, err := Load(newWorld(t, empty).source()); err != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
	if _, err := Load(newWorld(t, strings.Repeat("#", maxFileSize+1)).source()); fault.KindOf(err) != fault.TooLarge {
		t.Errorf("a huge file: %v", err)
	}
	w := newWorld(t, "")
	w.env["HAKO_LIMIT_LOOPS"] = "x"
	if _, err := Load(w.source()); err == nil || !strings.Contains(err.Error(), "env HAKO_LIMIT_LOOPS") {
		t.Errorf("environment: %v", err)
	}
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no permission bits here")
	}
	key := &spec{name: "api.key", env: "X_KEY", kind: listKind(words), local: anyValue}
	key.secret = true
	keys := []*spec{key, specByName()[string(ExecuteSize)]}
	w := newWorld(t, "api: {key: hunter2}")
	file := filepath.Join(w.dir, fileName)
	if _, err := load(w.source(), keys); !strings.Contains(fault.Hint(err), "chmod 600 "+file) {
		t.Errorf("a readable key: %v", err)
	}
	os.Chmod(file, 0o600)
	c, err := load(w.source(), keys)
	if err != nil || strings.Contains(fmt.Sprint(c.Show()), "hunter2") {
		t.Errorf("%v, %v", c.Show(), err)
	}
	os.WriteFile(file, []byte("execute: {size: 1}"), 0o600)
	os.Chmod(file, 0o646)
	if _, err := load(w.source(), keys); !strings.Contains(fault.Hint(err), "chmod go-w") {
		t.Errorf("a file that others can write: %v", err)
	}
	w.env["X_KEY"] = "a, b"
	src := w.source()
	src.NoFile = true
	if c, err := load(src, keys); err != nil || len(c.set["api.key"].words) != 2 {
		t.Errorf("a list in the environment: %v", err)
	}
}

func BenchmarkLoadWithoutFile(b *testing.B) {
	w := newWorld(b, "")
	b.ReportAllocs()
	for b.Loop() {
		Load(w.source())
	}
}
