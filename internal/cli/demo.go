package cli

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hako/internal/agent"
	"hako/internal/audit"
	"hako/internal/config"
	"hako/internal/container"
	"hako/internal/quota"
	"hako/internal/run"
)

//go:embed demo.log
var demoLog string

// demoScript is the real work of the demo: which hosts report which errors.
const demoScript = `echo "lines: $(wc -l < app.log)"
echo "errors by host:"
grep ' ERROR ' app.log | awk "{print \$3}" | sort | uniq -c | sort -rn
echo "slowest requests (ms):"
sed -n 's/.*latency=\([0-9]*\) .*path=\([^ ]*\).*/\1 \2/p' app.log | sort -rn | head -n 3
echo "注文エラー: $(grep -c '注文に失敗' app.log)"`

// demoEscape is what a model that wants out would try, as a script of turns.
const demoEscape = `{"text":"Let me look around.","calls":[{"name":"execute","arguments":{"command":"cat /etc/passwd"}},{"name":"execute","arguments":{"command":"rm -rf /"}}]}
{"calls":[{"name":"execute","arguments":{"command":"cat /etc/passwd"}}]}
{"text":"I can only read app.log."}
`

// demoMakefile is a program that was let into the workspace and wants out.
const demoMakefile = `escape:
	-@cat /etc/shadow
	-@touch /etc/hako-was-here
	-@ls /home
	@echo "what I may do: write here" > note.txt && cat note.txt
`

func newDemo(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main things in a minute, with no set-up",
		Long: `demo has the built-in model answer questions about a sample log through the
ordinary loop, a model that wants out refused, a real script run in the closed
shell, a real program held in the sandbox, a container for one task where there
is Docker, and checks the record of it all. It writes only to a temporary directory
and asks nobody on the network.`,
		Example: "  hako demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo(cmd, s) },
	}
}

func demo(cmd *cobra.Command, s streams) error {
	dir, err := os.MkdirTemp("", "hako-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for name, text := range map[string]string{"app.log": demoLog, "escape.jsonl": demoEscape, "Makefile": demoMakefile} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	if err := os.Chdir(dir); err != nil { // so that the names are short
		return err
	}
	d := &demonstration{s: s, cmd: cmd, ctx: cmd.Context(), common: common{noConfig: true, audit: filepath.Join(dir, "audit.jsonl")}}
	if err := d.models(); err != nil {
		return err
	}
	if err := d.shell(dir); err != nil {
		return err
	}
	if err := d.programs(dir); err != nil {
		return err
	}
	if err := d.container(dir); err != nil {
		return err
	}
	return d.record(d.common.audit)
}

// demonstration is one run of the demo.
type demonstration struct {
	s      streams
	cmd    *cobra.Command
	ctx    context.Context
	common common
	b      *opened
}

// models shows the loop: questions that are answered, and a model that wants out.
func (d *demonstration) models() error {
	d.step("1. A model answers questions about a file: the built-in rules, no key, no network")
	for _, question := range []string{"top 5 error messages", "「注文に失敗」は何行ありますか？"} {
		if err := d.ask("builtin", question); err != nil {
			return err
		}
	}
	d.step("2. A model that wants out is refused, told why, and not tried twice")
	return d.ask("script:escape.jsonl", "look around")
}

// ask runs one request as hako run does.
func (d *demonstration) ask(model, question string) error {
	fmt.Fprintf(d.s.out, "  $ hako run --model %s --file app.log %q\n", model, question)
	o := runOptions{modelFlags: modelFlags{model: model}, turns: 4, calls: 8, threads: 4}
	o.common, o.file = d.common, []string{"app.log"}
	conf, err := o.load()
	if err != nil {
		return err
	}
	w := newShow(streams{in: d.s.in, out: d.s.out, err: d.s.out}, false, true)
	job := &job{runOptions: &o, conf: conf, show: w, request: agent.Request{Text: question}}
	defer job.close()
	if err := job.prepare(d.ctx, d.cmd); err != nil {
		return err
	}
	_, err = job.agent.Run(d.ctx, &job.dialog, job.request)
	w.close(err)
	return err
}

// shell shows the closed shell and the policy.
func (d *demonstration) shell(dir string) (err error) {
	o := box{common: d.common, roots: []string{dir}}
	if d.b, err = o.open(); err != nil {
		return err
	}
	defer d.b.close()
	d.step("3. A script over the log, in a shell that starts no programs")
	d.show(demoScript)
	d.step("4. What lies outside is not there")
	d.show("cat /etc/passwd; curl https://example.com")
	d.step("5. What the policy refuses for real programs, and why")
	if err := d.refusals("rm -rf build", `git -c alias.x='!id' x`, "find . -name '*.tmp' -exec sh -c 'rm {}' ';'", "git log --oneline | head -n 5"); err != nil {
		return err
	}
	d.step("6. A script that would never end is stopped")
	d.show("x=a; while true; do x=$x$x; done")
	return nil
}

// programs shows what holds a program that the policy allows.
func (d *demonstration) programs(dir string) error {
	d.step("7. A real program, in a sandbox: the Makefile of the workspace tries to get out")
	o := hostFlags{common: d.common, root: dir}
	conf, err := o.load()
	if err != nil {
		return err
	}
	w, err := o.workshop(conf, quota.Unlimited(), nil)
	if err != nil {
		return err
	}
	defer w.opened.close()
	h, err := w.hire(d.ctx)
	if err != nil { // no sandbox, no programs; the rest of the demo works
		report(err, d.s.out)
		return nil
	}
	defer h.close()
	d.b = &opened{runner: h.Runner}
	d.show("make escape")
	d.step("8. What a script leaves running is ended with it")
	d.show("sleep 1000 & jobs")
	d.show(`echo "still running: $(jobs | wc -l)"`)
	return nil
}

// container shows the third runner, where there is an engine with an image.
func (d *demonstration) container(dir string) error {
	d.step("9. A container for one task: another user, no network, nothing of this machine")
	o := envFlags{common: d.common}
	b, err := o.berth(d.s, func(_ *config.Config, c *container.Options) error {
		c.State, c.Network, c.Detached = filepath.Join(dir, "env"), container.None, false
		return nil
	})
	if err != nil {
		return err
	}
	defer b.close()
	task := fmt.Sprintf("demo-%d", os.Getpid())
	if _, err := b.Prepare(d.ctx, container.Task{ID: task}, b.DefaultEnvironment()); err != nil { // the rest of the demo works
		report(err, d.s.out)
		return nil
	}
	defer b.CleanupAll(context.WithoutCancel(d.ctx))
	d.b = &opened{runner: b.Runner(task)}
	d.show("id -un && python --version && echo 'print(6*7)' > a.py && python a.py")
	d.show("ls /home /root /run/hako; curl -sS -m 3 https://example.com/")
	d.show("sudo ls")
	return nil
}

func (d *demonstration) step(title string) {
	if isTerminal(d.s.out) && os.Getenv("NO_COLOR") == "" {
		title = "\033[1m" + title + "\033[0m"
	}
	fmt.Fprintf(d.s.out, "\n%s\n", title)
}

// show prints a script and then what it does, failures included.
func (d *demonstration) show(script string) {
	fmt.Fprintln(d.s.out, "  $ "+strings.ReplaceAll(script, "\n", "\n  $ "))
	_, err := d.b.runner.Run(d.ctx, &run.Request{Actor: "demo", Script: script, Stdout: d.s.out, Stderr: d.s.out})
	if err != nil {
		report(err, d.s.out)
	}
}

func (d *demonstration) refusals(commands ...string) error {
	o := policyOptions{common: common{noConfig: true}}
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

// record shows the end of the audit log and checks its chain.
func (d *demonstration) record(path string) error {
	d.step("10. All of it is on record, and the record is whole")
	f, err := audit.OpenRead(path)
	if err != nil {
		return err
	}
	defer f.Close()
	events, err := audit.Query(f, audit.Filter{What: audit.Ended})
	if err != nil {
		return err
	}
	for _, e := range events {
		fmt.Fprintln(d.s.out, " ", eventLine(e))
	}
	rep, err := audit.VerifyFile(path)
	if err != nil {
		return err
	}
	fmt.Fprintln(d.s.out, "  $ hako audit verify\n ", rep)
	return rep.Err()
}
