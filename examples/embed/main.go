// Embed shows hako as a library: a closed shell over one granted directory, behind
// a gate with a policy, an approval callback, a budget and an audit log; a command
// of its own; and programs of this machine behind the same kind of gate.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"hako/audit"
	"hako/gate"
	"hako/host"
	"hako/host/sandbox"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/vfs"
)

func main() {
	sandbox.Main(os.Args[0]) // the host runner starts this program a second time, as the sandbox's helper
	if err := embed(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// secrets removes our own keys from the record, from questions and from refusals.
// Tokens and passwords with a known spelling are removed without it.
var secrets = strings.NewReplacer("the key of our service", "[redacted]")

func embed(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "embed")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	record, err := audit.Open(filepath.Join(dir, "audit.jsonl"), audit.Options{Secrets: secrets})
	if err != nil {
		return err
	}
	defer record.Close()
	if err := closedShell(ctx, record); err != nil {
		return err
	}
	if err := programs(ctx, record, dir); err != nil {
		return err
	}
	return verify(filepath.Join(dir, "audit.jsonl"))
}

// closedShell runs scripts that see the directory logs and start no process.
func closedShell(ctx context.Context, record audit.Log) error {
	limiter := quota.NewLimiter(quota.Strict()) // of each script: time, memory, output, loops…
	files := vfs.New(vfs.Options{Limiter: limiter})
	if err := files.Mount("/logs", "logs", false); err != nil { // false: read-only
		return err
	}
	commands := command.All()
	commands["hosts"] = hosts
	session := shell.New(shell.Options{FS: files, Commands: commands, Limiter: limiter, Dir: "/logs"})
	rules, err := ownRules()
	if err != nil {
		return err
	}
	g := gate.New(session, gate.Options{
		Policy: rules, Log: record,
		Budget: quota.New(quota.Limits{Scripts: 6, Read: 1 << 20, Written: 1 << 20, Wall: time.Minute}),
		Ask:    approve, Pause: limiter.Pause, Secrets: secrets,
	})
	for _, script := range []string{
		`grep -c ERROR app.log`,
		`n=$(wc -l < app.log); cd /tmp`,                     // a session keeps variables and the directory
		`echo "$n lines, now in $PWD"`,                      //
		`hosts < /logs/app.log`,                             // our own command
		`touch /tmp/new && mv /tmp/new /tmp/old && ls /tmp`, // the policy asks about mv
		`rm -r /tmp/*`,                                      // and denies rm -r
		`echo x > /logs/app.log`,                            // granted for reading
		`echo one script too many`,                          // the budget is used up
	} {
		show(g, ctx, script)
	}
	return nil
}

// ownRules adds two rules to those for the closed shell, which allow everything:
// nothing outside can be touched from there.
func ownRules() (*policy.Policy, error) {
	more, err := policy.Parse("own.policy",
		strings.NewReader("ask mv # renaming needs approval\ndeny rm -r # remove files by name\n"))
	if err != nil {
		return nil, err
	}
	return policy.Virtual().With(more), nil
}

// approve is the approval callback. A real one would ask a person; the gate waits.
func approve(_ context.Context, q gate.Question) (gate.Answer, error) {
	fmt.Printf("  approve %s? %s (%s): yes\n", q.Command, q.Why, q.Rule)
	return gate.Once, nil
}

// hosts is a command of our own. It reads its standard input through the limits of
// the session, and has no other way out.
var hosts = shell.Command{
	Name: "hosts", Summary: "print the hosts of a log, each once",
	Run: func(_ context.Context, c *shell.Call) error {
		seen := map[string]bool{}
		for {
			line, err := c.Stdin.Line()
			if f := strings.Fields(string(line)); len(f) > 2 && !seen[f[2]] {
				seen[f[2]] = true
				fmt.Fprintln(c.Stdout, f[2])
			}
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
		}
	},
}

// programs runs programs of this machine below dir, in a sandbox of the kernel.
func programs(ctx context.Context, record audit.Log, dir string) error {
	root := filepath.Join(dir, "root")
	if err := os.Mkdir(root, 0o700); err != nil {
		return err
	}
	runner, err := host.New(ctx, host.Options{Root: root, Timeout: 10 * time.Second})
	if err != nil {
		fmt.Println("no sandbox here:", err)
		return nil
	}
	defer runner.Close()
	g := gate.New(runner, gate.Options{
		Policy: policy.Host(policy.Options{Root: root, Dir: root}),
		Log:    record, Budget: quota.New(quota.DefaultLimits()), Dir: root,
	})
	show(g, ctx, `printf 'b\na\n' > list && sort list`)
	show(g, ctx, `cat /etc/shadow`)
	return nil
}

// show runs a script. Its output appears as it is written.
func show(g run.Runner, ctx context.Context, script string) {
	fmt.Println("$", script)
	res, err := g.Run(ctx, &run.Request{
		Actor: "example", Script: script, Stdout: indented{}, Stderr: indented{},
	})
	var fe *fault.Error
	switch {
	case errors.As(err, &fe):
		fmt.Printf("  error (%s): %v\n", fault.KindOf(err), err)
	case err != nil:
		fmt.Println("  error:", err)
	case res.Exit != 0:
		fmt.Println("  exit status", res.Exit)
	}
}

// indented writes what a script prints, as it comes.
type indented struct{}

// Write implements [io.Writer].
func (indented) Write(p []byte) (int, error) {
	for line := range strings.Lines(string(p)) {
		fmt.Print("  " + line)
	}
	return len(p), nil
}

// verify checks that nobody changed the record.
func verify(path string) error {
	report, err := audit.VerifyFile(path)
	if err != nil {
		return err
	}
	fmt.Println("record unchanged:", report.OK())
	return report.Err()
}
