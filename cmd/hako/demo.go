package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"fmt"
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
	"hako/shell/stream"
)

//go:embed demo.log
var demoLog string

// demoScript is a useful script: which hosts report which errors.
const demoScript = `echo "lines: $(wc -l < app.log)"
echo "errors by host:"
grep ' ERROR ' app.log | awk "{print \$3}" | sort | uniq -c | sort -rn
echo "slowest requests (ms):"
sed -n 's/.*latency=\([0-9]*\) .*path=\([^ ]*\).*/\1 \2/p' app.log | sort -rn | head -n 3
echo "注文エラー: $(grep -c '注文に失敗' app.log)"`

// demoEscape is a replayed model that tries to escape.
const demoEscape = `{"text":"Let me look around.","calls":[{"name":"execute","arguments":{"command":"cat /etc/passwd"}},{"name":"execute","arguments":{"command":"rm -rf /"}}]}
{"calls":[{"name":"execute","arguments":{"command":"cat /etc/passwd"}}]}
{"text":"I can only read app.log."}
`

// demoEndless is a replayed model that never answers.
const demoEndless = `{"calls":[{"name":"execute","arguments":{"command":"sed -n 1p app.log"}}]}
{"calls":[{"name":"execute","arguments":{"command":"sed -n 2p app.log"}}]}
{"calls":[{"name":"execute","arguments":{"command":"sed -n 3p app.log"}}]}
{"calls":[{"name":"execute","arguments":{"command":"sed -n 4p app.log"}}]}
`

// demoMakefile is an allowed program that tries to escape.
const demoMakefile = `escape:
	-@cat /etc/shadow
	-@touch /etc/hako-was-here
	-@ls /home
	@echo "what I may do: write here" > note.txt && cat note.txt
`

// demoFiles are the files of the demo.
func demoFiles() map[string]string {
	return map[string]string{"app.log": demoLog, "escape.jsonl": demoEscape, "endless.jsonl": demoEndless,
		"Makefile": demoMakefile}
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
	cmd.Flags().StringVar(&o.language, "lang", "", "speak `LANGUAGE`: en or ja (default that of LANG)")
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
	if err := os.Mkdir(dir, 0o700); err != nil {
		return err
	}
	for name, text := range demoFiles() {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
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
	d.say(demoWelcome)
	for i, a := range steps {
		d.title(fmt.Sprintf("%d/%d  %s", i+1, len(steps), a.title.in(d.language)))
		d.say(a.text)
		if err := a.run(d); err != nil {
			return err
		}
		if i < len(steps)-1 && !d.wait() {
			return nil
		}
	}
	fmt.Fprintln(d.s.out)
	d.say(demoEnd)
	return nil
}

func (d *demo) say(p phrase) { fmt.Fprintln(d.s.out, p.in(d.language)) }

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
	d.say(demoPrompt)
	d.s.screen.DropTyped()
	ctx, cancel := context.WithTimeout(d.ctx, d.pause)
	defer cancel()
	line, _ := bufio.NewReader(stream.WithContext(ctx, d.s.keys)).ReadString('\n') // no answer means go on
	return d.ctx.Err() == nil && strings.TrimSpace(line) != "q"
}

// questions shows questions that a model answers.
func (d *demo) questions() error {
	first := phrase{"top 5 error messages", "エラーメッセージの上位5件"}
	second := phrase{"how many lines mention connection refused?", "「注文に失敗」は何行ありますか？"}
	for _, q := range []phrase{first, second} {
		if err := d.ask("builtin", q.in(d.language)); err != nil {
			return err
		}
	}
	return nil
}

func (d *demo) escape() error {
	return d.ask("script:escape.jsonl", phrase{"look around", "調べてください"}.in(d.language))
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
	return d.inShell(demoScript, "cat /etc/passwd; curl https://example.com")
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
