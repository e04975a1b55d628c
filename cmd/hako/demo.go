package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/container"
	"hako/internal/app"
	"hako/internal/app/ask"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell/stream"
)

// demoFiles has the files of the demo: the project that it works on, a script, and its texts in English and Japanese.
//
//go:embed demo
var demoFiles embed.FS

// A step is one step of the demo. Its name is that of its text.
type step struct {
	name string
	run  func(*demo) error
}

var steps = []step{
	{"questions", (*demo).questions}, {"escape", (*demo).escape}, {"closedShell", (*demo).closedShell},
	{"verdicts", (*demo).verdicts}, {"budget", (*demo).budget}, {"programs", (*demo).programs},
	{"container", (*demo).container}, {"record", (*demo).record},
}

// text returns a text of the demo in its language.
func (d *demo) text(name string) string {
	words, _ := demoFiles.ReadFile("demo/words.txt")
	_, section, _ := strings.Cut(string(words), "% "+name+"\n")
	section, _, _ = strings.Cut(section, "\n\n")
	english, japanese, _ := strings.Cut(section, "\n--\n")
	if d.language == "ja" {
		return strings.TrimSpace(japanese)
	}
	return english
}

// demoLanguage returns the language that was asked for, or that of the locale.
func demoLanguage(asked string) (string, error) {
	switch asked {
	case "en", "ja":
		return asked, nil
	case "":
		locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_MESSAGES"), os.Getenv("LANG"))
		if strings.HasPrefix(locale, "ja") {
			return "ja", nil
		}
		return "en", nil
	}
	return "", &fault.Error{Kind: fault.Invalid, Op: "demo", Subject: "--lang " + asked,
		Why: "the language is not supported", Hint: "use en or ja"}
}

// demoFlags are the flags of hako demo.
type demoFlags struct {
	fast     bool
	language string
}

func newDemo(s streams) *cobra.Command {
	var o demoFlags
	cmd := command("demo", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return o.run(cmd, s) })
	cmd.Flags().BoolVar(&o.fast, "fast", false, "do not pause")
	cmd.Flags().StringVar(&o.language, "lang", "", "use `LANGUAGE`: en or ja (default that of LANG)")
	_ = cmd.RegisterFlagCompletionFunc("lang", completer(fixed("en", "ja")))
	return cmd
}

// run runs the demo in a temporary directory.
func (o *demoFlags) run(cmd *cobra.Command, s streams) error {
	language, err := demoLanguage(o.language)
	if err != nil {
		return err
	}
	top, err := os.MkdirTemp("", "hako-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	dir := filepath.Join(top, "project") // the record is outside of it, out of reach of programs
	project, err := fs.Sub(demoFiles, "demo/project")
	if err != nil {
		return err
	}
	if err := os.CopyFS(dir, project); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil { // so that the names are short
		return err
	}
	d := &demo{s: s, cmd: cmd, ctx: cmd.Context(), dir: dir, language: language,
		common: common{Settings: setup.Settings{NoFile: true, Audit: filepath.Join(top, "audit.jsonl")}}}
	if !o.fast && isTerminal(s.in) && isTerminal(s.out) {
		d.pause = demoPause
	}
	return d.run()
}

// demoPause is how long the demo waits for a key after each step.
const demoPause = 12 * time.Second

// demo is one run of the demo.
type demo struct {
	s        streams
	cmd      *cobra.Command
	ctx      context.Context
	dir      string
	language string
	pause    time.Duration // zero means none
	common   common
	runner   run.Runner
}

// run runs the steps until the end or until the reader presses q.
func (d *demo) run() error {
	d.say("welcome")
	for i, a := range steps {
		title, text, _ := strings.Cut(d.text(a.name), "\n")
		d.title(fmt.Sprintf("%d/%d  %s", i+1, len(steps), title))
		fmt.Fprintln(d.s.out, text)
		if err := a.run(d); err != nil {
			return err
		}
		if i < len(steps)-1 && !d.wait() {
			return nil
		}
	}
	fmt.Fprintln(d.s.out)
	d.say("end")
	return nil
}

func (d *demo) say(name string) { fmt.Fprintln(d.s.out, d.text(name)) }

func (d *demo) title(text string) {
	if isTerminal(d.s.out) && useColor() {
		text = "\033[1m" + text + "\033[0m"
	}
	fmt.Fprintf(d.s.out, "\n%s\n", text)
}

// wait waits for a key, but not for ever, and reports whether to go on.
func (d *demo) wait() bool {
	if d.pause == 0 {
		return d.ctx.Err() == nil
	}
	d.say("prompt")
	d.s.screen.DropTyped()
	ctx, cancel := context.WithTimeout(d.ctx, d.pause)
	defer cancel()
	line, _ := bufio.NewReader(stream.WithContext(ctx, d.s.keys)).ReadString('\n') // no answer means go on
	return d.ctx.Err() == nil && strings.TrimSpace(line) != "q"
}

// questions shows questions that a model answers.
func (d *demo) questions() error {
	if err := d.ask("builtin", d.text("question1")); err != nil {
		return err
	}
	return d.ask("builtin", d.text("question2"))
}

func (d *demo) escape() error {
	return d.ask("script:escape.jsonl", d.text("question3"))
}

// ask runs one request as hako run does.
func (d *demo) ask(model, question string) error {
	fmt.Fprintf(d.s.out, "  $ hako run --model %s --file app.log %q\n", model, question)
	return d.request(model, question, nil)
}

func (d *demo) request(model, question string, change func(*config.Config) error) error {
	o := runOptions{common: d.common, modelFlags: modelFlags{model: model},
		Options: ask.Options{Request: question, Turns: 4, Calls: 8, Threads: 4}}
	o.Files = []string{"app.log"}
	conf, err := o.load()
	if err != nil {
		return err
	}
	if change != nil {
		if err := change(conf); err != nil {
			return err
		}
	}
	w := newTranscript(streams{in: d.s.in, out: d.s.out, err: d.s.out}, false, true)
	session, err := o.open(d.ctx, conf, w, d.cmd)
	if err != nil {
		return err
	}
	defer session.Close()
	_, err = session.Answer(d.ctx)
	w.close(err)
	return err
}

// closedShell shows a script over the log, and what it cannot reach.
func (d *demo) closedShell() error {
	script, err := demoFiles.ReadFile("demo/report.sh")
	if err != nil {
		return err
	}
	return d.inShell(strings.TrimSpace(string(script)), "cat /etc/passwd; curl https://example.com")
}

// inShell runs scripts in one closed shell.
func (d *demo) inShell(scripts ...string) (err error) {
	conf, err := d.common.load()
	if err != nil {
		return err
	}
	b, err := app.OpenShell(&setup.ShellOptions{Roots: []string{d.dir}}, conf)
	if err != nil {
		return err
	}
	defer b.Close()
	d.runner = b.Runner
	for _, script := range scripts {
		d.show(script)
	}
	return nil
}

// verdicts shows verdicts of the policy, without running commands.
func (d *demo) verdicts() error {
	return d.refusals("rm -rf build", `git -c alias.x='!id' x`, "find . -name '*.tmp' -exec sh -c 'rm {}' ';'",
		"git log --oneline | head -n 5")
}

// budget shows the budget of a session, and what stops a model and a script that want more.
func (d *demo) budget() error {
	fmt.Fprintln(d.s.out, "  $ hako quota")
	if err := printQuota(d.s.out, quota.New(quota.DefaultLimits()).Left(), nil, nil); err != nil {
		return err
	}
	fmt.Fprintln(d.s.out, "  $ HAKO_QUOTA_SCRIPTS=2 hako run --model script:endless.jsonl --file app.log …")
	err := d.request("script:endless.jsonl", "go on",
		func(c *config.Config) error { return c.Set("quota.scripts", "HAKO_QUOTA_SCRIPTS", "2") })
	if d.ctx.Err() != nil {
		return err
	}
	report(err, d.s.out)
	return d.inShell("x=a; while true; do x=$x$x; done")
}

// programs shows the sandbox of an allowed program.
func (d *demo) programs() error {
	o := hostFlags{common: d.common, root: d.dir}
	conf, err := o.load()
	if err != nil {
		return err
	}
	w, err := app.OpenHost(conf, quota.Unlimited(), nil)
	if err != nil {
		return err
	}
	defer w.App.Close()
	h, err := w.NewRunner(d.ctx)
	if err != nil { // without a sandbox, the rest of the demo still works
		report(err, d.s.out)
		return nil
	}
	defer h.Close()
	d.runner = h.Runner
	d.show("make escape")
	d.show("sleep 1000 & jobs")
	d.show(`echo "still running: $(jobs | wc -l)"`)
	return nil
}

// container shows the container runner, if there is an engine with an image.
func (d *demo) container() error {
	o := envFlags{common: d.common, change: func(_ *config.Config, c *container.Options) error {
		c.State, c.Network, c.Detached = filepath.Join(d.dir, "env"), container.None, false
		return nil
	}}
	b, err := o.openContainers(d.s)
	if err != nil { // for example an invalid address of the engine
		report(err, d.s.out)
		return nil
	}
	defer b.Close()
	task := fmt.Sprintf("demo-%d", os.Getpid())
	if _, err := b.Prepare(d.ctx, container.Task{ID: task},
		b.DefaultEnvironment()); err != nil { // the rest of the demo still works
		report(err, d.s.out)
		return nil
	}
	defer b.CleanupAll(context.WithoutCancel(d.ctx))
	d.runner = b.Runner(task)
	d.show("id -un && python --version && echo 'print(6*7)' > a.py && python a.py")
	d.show("ls /home /root /run/hako; curl -sS -m 3 https://example.com/")
	d.show("sudo ls")
	return nil
}

// show prints a script and its output, failures included.
func (d *demo) show(script string) {
	fmt.Fprintln(d.s.out, "  $ "+strings.ReplaceAll(script, "\n", "\n  $ "))
	_, err := d.runner.Run(d.ctx, &run.Request{Actor: "demo", Script: script, Stdout: d.s.out, Stderr: d.s.out})
	if err != nil {
		report(err, d.s.out)
	}
}

func (d *demo) refusals(commands ...string) error {
	o := policyOptions{common: common{Settings: setup.Settings{NoFile: true}}}
	p, err := o.policy()
	if err != nil {
		return err
	}
	for _, c := range commands {
		fmt.Fprintln(d.s.out, "  $ hako policy check", quoteForPeople(c))
		for _, v := range judge(p, c).Verdicts[:1] {
			fmt.Fprintln(d.s.out, verdictLine(v))
		}
	}
	return nil
}

func quoteForPeople(s string) string {
	if strings.Contains(s, "'") {
		return `"` + s + `"`
	}
	return "'" + s + "'"
}

// record shows what was refused, verifies the record, and verifies a copy in which one word was changed.
func (d *demo) record() error {
	path := d.common.Audit
	f, err := audit.OpenRead(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fmt.Fprintln(d.s.out, "  $ hako audit query --what denied")
	events, err := audit.Query(f, audit.Filter{What: audit.Denied})
	if err != nil {
		return err
	}
	for _, e := range events {
		fmt.Fprintln(d.s.out, eventLine(e))
	}
	fmt.Fprintln(d.s.out, "  $ hako audit verify")
	rep, err := audit.VerifyFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(d.s.out, rep)
	if err := rep.Err(); err != nil {
		return err
	}
	return d.tamper(path)
}

// tamper changes one word in a copy of the record, which the verification detects.
func (d *demo) tamper(path string) error {
	fmt.Fprintln(d.s.out, "  $ sed -i s/denied/allowed/ copy.jsonl; hako audit verify --audit copy.jsonl")
	lines, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	forged := bytes.Replace(lines, []byte(`"denied"`), []byte(`"allowed"`), 1)
	if err := os.WriteFile("copy.jsonl", forged, 0o600); err != nil {
		return err
	}
	rep, err := audit.VerifyFile("copy.jsonl")
	if err != nil {
		return err
	}
	report(rep.Err(), d.s.out)
	return nil
}
