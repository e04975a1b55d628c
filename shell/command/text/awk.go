package text

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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

// maxAwkProgram bounds a program read from a file.
const maxAwkProgram = cli.LongestScript

func runAwk(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	if slices.ContainsFunc(opts, func(o cli.Option) bool { return o.Name == "V" }) {
		_, err := c.Stdout.WriteString("awk of hako, a language like GNU Awk 5.2\n")
		return err
	}
	cfg := awkConfig(c)
	sources, err := awkSettings(c, cfg, opts)
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
	if status != 0 {
		return shell.Status(status)
	}
	return nil
}

// awkMeasure charges the program, and refuses one that is too long.
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

// awkSettings takes over the options and returns the program they give.
func awkSettings(c *shell.Call, cfg *awk.Config, opts []cli.Option) (sources []awk.Source, err error) {
	cfg.Sandbox = slices.ContainsFunc(opts, func(o cli.Option) bool { return o.Name == "S" })
	for _, o := range opts {
		if o.Name != "f" && o.Name != "e" {
			if err := setAwk(cfg, o); err != nil {
				return nil, err
			}
			continue
		}
		if cfg.Sandbox && o.Name == "f" {
			return nil, errors.New("fatal: -f not allowed in sandbox mode") // nobody saw what is in the file
		}
		src, err := awkSource(c, o)
		if err != nil {
			return nil, err
		}
		sources = append(sources, src)
	}
	return sources, nil
}

// awkConfig lends the call's world to the language.
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
		IsDir: func(name string) bool {
			info, err := c.FS.Stat(c.Path(name))
			return err == nil && info.IsDir()
		},
		Command: func(ctx context.Context, text string, io awk.Streams) (func() (int, error), error) {
			return c.Fork(ctx, []string{"sh", "-c", text}, shell.ExecIO{Stdin: io.Stdin, Stdout: io.Stdout, Env: io.Env,
				Clean: io.Env != nil})
		},
	}
}

// setAwk takes over one option.
func setAwk(cfg *awk.Config, o cli.Option) error {
	switch o.Name {
	case "F":
		cfg.FS, cfg.HasFS = o.Value, true
		if o.Value == "t" { // as POSIX has it
			cfg.FS = "\t"
		}
	case "v":
		name, _, ok := strings.Cut(o.Value, "=")
		switch {
		case !ok:
			return fmt.Errorf("fatal: `%s' argument to `-v' not in `var=value' form", o.Value)
		case !awk.IsName(name):
			return fmt.Errorf("fatal: `%s' is not a legal variable name", name)
		}
		cfg.Vars = append(cfg.Vars, o.Value)
	case "k":
		cfg.CSV = true
	}
	return nil
}

// awkSource returns the program text an option gives or names.
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
	text, err := io.ReadAll(io.LimitReader(in, maxAwkProgram+1))
	if err == nil && len(text) > maxAwkProgram {
		err = fmt.Errorf("fatal: source file `%s' is longer than %d KB", o.Value, maxAwkProgram>>10)
	}
	return awk.Source{Name: o.Value, Text: string(text)}, err
}

// awkFail prints a message of the language as it is, after what was printed before.
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
