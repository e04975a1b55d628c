package tool

import (
	"context"
	"fmt"

	"hako/shell"
)

// textual restricts a command to text files, whatever its options: some commands can handle any bytes, but a model
// cannot.
func textual(cmd shell.Command, r reader) shell.Command {
	run := cmd.Run
	cmd.Run = func(ctx context.Context, c *shell.Call) error {
		name, err := r.notText(c)
		switch {
		case err != nil:
			return err
		case name != "":
			c.Warn("%s: the file is not text", name)
			fmt.Fprintln(c.Stderr, "hint: only text can be read here; wc -c tells how large the file is")
			return shell.Status(2)
		}
		return run(ctx, c)
	}
	return cmd
}

// notText returns the first operand that is a file but no text; empty means none.
func (r reader) notText(c *shell.Call) (string, error) {
	a, err := r.sortOut(append([]string{c.Name}, c.Args...))
	if err != nil || r.measures != "" && len(a.seen) == 1 && a.seen[r.measures] {
		return "", err
	}
	look := *c
	look.FS = c.FS.View() // the audit log is about what was read
	_, named := r.split(a)
	for _, s := range named {
		if !opens(look.Open, s.value) && opens(look.OpenBytes, s.value) {
			return s.value, nil
		}
	}
	return "", nil
}

func opens[F interface{ Close() error }](open func(name string) (F, error), name string) bool {
	f, err := open(name)
	if err == nil {
		f.Close()
	}
	return err == nil
}
