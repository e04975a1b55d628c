package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/awk"
	"hako/shell/command/internal/cli"
	"hako/shell/command/internal/datetime"
	"hako/shell/vfs"
)

var (
	Awk  = shell.Command{Name: "awk", Run: runAwk}
	Gawk = shell.Command{Name: "gawk", Run: runAwk}
	Mawk = shell.Command{Name: "mawk", Run: runAwk}
)

func runAwk(ctx context.Context, c *shell.Call) error {
	cfg := awkConfig(c)
	version := false
	var given []cli.Option
	operands, err := cli.Parse(c, cli.Flags{
		"V": &version, "S": &cfg.Sandbox, "k": &cfg.CSV,
		"f e": func(o cli.Option) error { given = append(given, o); return nil },
		"F": func(sep string) {
			if sep == "t" { // as POSIX requires
				sep = "\t"
			}
			cfg.FS, cfg.HasFS = sep, true
		},
		"v": func(text string) error {
			name, _, ok := strings.Cut(text, "=")
			switch {
			case !ok:
				return c.Fail(2, "fatal: `%s' argument to `-v' not in `var=value' form", text)
			case !awk.IsName(name):
				return c.Fail(2, "fatal: `%s' is not a legal variable name", name)
			}
			cfg.Vars = append(cfg.Vars, text)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if version {
		_, err := c.Stdout.WriteString("awk of hako, a language like GNU Awk 5.2\n")
		return err
	}
	sources, err := awkSources(c, cfg, given)
	if err != nil {
		return awkFail(c, err)
	}
	if len(sources) == 0 {
		if len(operands) == 0 {
			return shell.ErrUsage
		}
		sources, operands = []awk.Source{{Text: operands[0]}}, operands[1:]
	}
	cfg.Args = operands
	held := &cli.Memory{C: c}
	defer held.Release()
	if err := awkMeasure(held, sources); err != nil {
		return awkFail(c, err)
	}
	prog, err := awk.Parse(c.Name, sources, c.Stderr)
	if err != nil {
		return awkFail(c, err)
	}
	status, err := awk.Run(ctx, prog, cfg)
	if err != nil {
		return awkFail(c, err)
	}
	return cli.StatusOr(status, nil)
}

// awkMeasure charges the memory of the program, and refuses one that is too long.
func awkMeasure(held *cli.Memory, sources []awk.Source) error {
	size := 0
	for _, src := range sources {
		size += len(src.Text)
	}
	err := held.Script(size)
	if err != nil && fault.KindOf(err) != fault.Exhausted {
		err = fmt.Errorf("fatal: %w", err)
	}
	return err
}

// awkSources returns the program that -e and -f give.
func awkSources(c *shell.Call, cfg *awk.Config, given []cli.Option) (sources []awk.Source, err error) {
	for _, o := range given {
		if cfg.Sandbox && o.Name == "f" {
			return nil, errors.New("fatal: -f not allowed in sandbox mode") // nobody has read the file
		}
		src, err := awkSource(c, o)
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	return sources, nil
}

// awkConfig connects the language to the streams and files of the call.
func awkConfig(c *shell.Call) *awk.Config {
	zone := datetime.ZoneOrUTC(c)
	return &awk.Config{
		Name: c.Name, Stdin: c.Stdin, Output: c.Stdout, Error: c.Stderr, Environ: c.Environ(),
		Now:    func() time.Time { return c.Now().In(zone) },
		Grow:   c.Limiter.Hold,
		Reason: vfs.Reason,
		Open:   func(name string) (io.ReadCloser, error) { return c.Open(name) },
		Create: func(name string, more bool) (io.WriteCloser, error) {
			flag := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
			if more {
				flag = os.O_WRONLY | os.O_CREATE | os.O_APPEND
			}
			return c.OpenFile(name, flag, 0o666)
		},
		IsDir: func(name string) bool { return cli.IsDir(c, c.Path(name)) },
		Command: func(ctx context.Context, text string, io awk.Streams) (func() (int, error), error) {
			return c.Fork(ctx, []string{"sh", "-c", text}, shell.ExecIO{Stdin: io.Stdin, Stdout: io.Stdout, Env: io.Env,
				Clean: io.Env != nil})
		},
	}
}

// awkSource returns the text of -e or the contents of the file of -f.
func awkSource(c *shell.Call, o cli.Option) (awk.Source, error) {
	if o.Name == "e" {
		return awk.Source{Text: o.Value}, nil
	}
	var in io.Reader = c.Stdin
	if o.Value != "-" && o.Value != "/dev/stdin" {
		f, err := c.Open(o.Value)
		if err != nil {
			return awk.Source{}, fmt.Errorf("fatal: cannot open source file `%s' for reading: %s", o.Value, vfs.Reason(err))
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, cli.LongestScript+1))
	if err == nil && len(text) > cli.LongestScript {
		err = fmt.Errorf("fatal: source file `%s' is longer than %d KB", o.Value, cli.LongestScript>>10)
	}
	return awk.Source{Name: o.Value, Text: string(text)}, err
}

// awkFail prints a message of the language unchanged, after the output so far.
func awkFail(c *shell.Call, err error) error {
	_ = c.Stdout.Flush() // the shell reports it
	var own *awk.Error
	if errors.As(err, &own) {
		fmt.Fprintln(c.Stderr, own.Text)
		return shell.Status(own.Status)
	}
	if strings.HasPrefix(err.Error(), "fatal: ") {
		return c.Fail(2, "%v", err)
	}
	return err
}
