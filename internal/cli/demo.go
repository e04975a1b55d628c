package cli

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hako/internal/audit"
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

func newDemo(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show the main things in a minute, with no set-up",
		Long: `demo runs a real script over a sample log in the closed shell, has a command
refused and explained, and checks the record of it all. It writes only to a
temporary directory.`,
		Example: "  hako demo",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return demo(cmd.Context(), s) },
	}
}

func demo(ctx context.Context, s streams) error {
	dir, err := os.MkdirTemp("", "hako-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "app.log")
	if err := os.WriteFile(log, []byte(demoLog), 0o600); err != nil {
		return err
	}
	o := box{common: common{noConfig: true, audit: filepath.Join(dir, "audit.jsonl")}, roots: []string{dir}}
	b, err := o.open()
	if err != nil {
		return err
	}
	defer b.close()
	d := &demonstration{s: s, b: b, ctx: ctx}
	d.step("1. A script over a log, in a shell that starts no programs")
	d.show(demoScript)
	d.step("2. What lies outside is not there")
	d.show("cat /etc/passwd; curl https://example.com")
	d.step("3. What the policy refuses for real programs, and why")
	if err := d.refusals("rm -rf build", `git -c alias.x='!id' x`, "find . -name '*.tmp' -exec sh -c 'rm {}' ';'", "git log --oneline | head -n 5"); err != nil {
		return err
	}
	d.step("4. A script that would never end is stopped")
	d.show("x=a; while true; do x=$x$x; done")
	b.close()
	return d.record(o.audit)
}

// demonstration is one run of the demo.
type demonstration struct {
	s   streams
	b   *opened
	ctx context.Context
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
	d.step("5. All of it is on record, and the record is whole")
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
