package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hako/internal/audit"
	"hako/internal/config"
	"hako/internal/fault"
	"hako/internal/quota"
	"hako/internal/shell"
	"hako/internal/tool"
	"hako/internal/websearch"
)

// execOptions are the flags of hako exec.
type execOptions struct {
	box
	file  []string
	urls  []string
	start int64
	size  int64
	json  bool
	stdin io.Reader
}

func newExec(s streams) *cobra.Command {
	var o execOptions
	cmd := &cobra.Command{
		Use:   "exec --file F [--start N] [--size N] [--json] COMMAND",
		Short: "Run one read-only pipeline over granted files, page by page",
		Long: `exec is the execute tool that models get, for people and scripts: simple
commands joined by |, over the files given with --file and no others, printed
one page at a time. With --json the answer has the fields a model sees.`,
		Example: `  hako exec --file app.log 'grep ERROR app.log | head -n 3'
  hako exec --file app.log --json --size 200 'cat app.log'
  hako exec --allow-url https://example.com/docs/ 'curl -s https://example.com/docs/a.txt'`,
		Args: oneCommand,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, s, args[0]) },
	}
	f := cmd.Flags()
	o.common.register(f)
	f.StringArrayVar(&o.file, "file", nil, "grant the real `FILE` for reading")
	f.StringArrayVar(&o.urls, "allow-url", nil, "let curl get what is below `PREFIX`")
	f.Int64Var(&o.start, "start", 0, "start at byte `N` of the output")
	f.Int64Var(&o.size, "size", tool.MaxPage, "print at most `N` bytes, 1 to 4096")
	f.BoolVar(&o.json, "json", false, "print the whole answer as JSON")
	return cmd
}

func (o *execOptions) run(cmd *cobra.Command, s streams, command string) error {
	if !isTerminal(s.in) {
		o.stdin = s.in
	}
	e, b, err := o.executor(cmd.Flags().Changed("size"))
	if err != nil {
		return err
	}
	defer b.close()
	defer watchdog(b.gauge, s.err)()
	out := e.Call(cmd.Context(), tool.Input{Command: command, Start: o.start, Size: &o.size})
	if o.json {
		return printAnswer(s, out)
	}
	_, _ = io.WriteString(s.out, out.StdoutText)
	_, _ = io.WriteString(s.err, out.StderrText)
	if out.NextStart != nil {
		fmt.Fprintf(s.err, "hako: %d of %d bytes; the next page: --start %d\n", *out.NextStart, out.TotalBytes, *out.NextStart)
	}
	return answerStatus(out)
}

func printAnswer(s streams, out tool.Output) error {
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return err
	}
	if out.Error != nil {
		return exitStatus(status[out.Error.Kind])
	}
	return answerStatus(out)
}

func answerStatus(out tool.Output) error {
	switch {
	case out.Error != nil:
		return out.Error
	case out.ExitCode != 0:
		return exitStatus(out.ExitCode)
	}
	return nil
}

// executor puts the read-only profile together.
func (o *execOptions) executor(sized bool) (*tool.Executor, *opened, error) {
	conf, err := o.load()
	if err != nil {
		return nil, nil, err
	}
	if !sized {
		o.size = int64(config.ExecuteSize.Of(conf).V)
	}
	web := &websearch.Fetcher{Prefixes: append(config.ExecutePrefixes.Of(conf).V, o.urls...)}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	o.strict, o.inputs, o.dir = true, o.file, filepath.ToSlash(cwd)
	o.only = func(all shell.Set) shell.Set { return tool.Commands(all, web) }
	o.base = func() quota.Limits {
		l := quota.Strict()
		l.Output = 256 << 20 // what is not on the page is counted, not kept
		return l
	}
	b, err := o.open()
	if err != nil {
		return nil, nil, err
	}
	return &tool.Executor{
		Runner: b.runner, Actor: "user", Stdin: o.stdin, Files: o.file, Dir: o.dir, Real: resolve, Web: web,
		Cache: tool.NewCache(), Fingerprint: tool.Fingerprint(o.file, web.Prefixes), Refused: b.refused,
	}, b, nil
}

// refused puts on record what execute refused before it came to the gate.
func (b *opened) refused(actor, command string, why *fault.Error) {
	_ = b.log.Append(audit.Event{What: audit.Asked, Actor: actor, Script: command})
	_ = b.log.Append(audit.Event{What: audit.Denied, Actor: actor, Script: command, Reason: why.Why, Kind: why.Kind.String()})
}
