package file

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var File = shell.Command{Name: "file", Run: runFile}

type identifier struct {
	c                          *shell.Call
	brief, ragged, follow, nul bool
	mimeType, mimeEncoding     bool
	separator                  string
}

func runFile(ctx context.Context, c *shell.Call) error {
	opts, operands, err := c.Options()
	if err != nil {
		return err
	}
	f := &identifier{c: c, separator: ":"}
	for _, o := range opts {
		switch o.Name {
		case "b":
			f.brief = true
		case "i":
			f.mimeType, f.mimeEncoding = true, true
		case "mime-type":
			f.mimeType = true
		case "mime-encoding":
			f.mimeEncoding = true
		case "L":
			f.follow = true
		case "h":
			f.follow = false
		case "N":
			f.ragged = true
		case "F":
			f.separator = o.Value
		case "0":
			f.nul = true
		case "f":
			names, err := c.FS.ReadFile(c.Path(o.Value))
			if err != nil {
				return c.Fail(1, "Cannot open `%s' (%s)", o.Value, vfs.Reason(err))
			}
			operands = append(operands, strings.Fields(string(names))...)
		case "z":
			return c.Fail(1, "option 'z' is not available here")
		}
	}
	if len(operands) == 0 {
		return shell.ErrUsage
	}
	return f.run(ctx, operands)
}

func (f *identifier) run(ctx context.Context, names []string) error {
	width := 0
	for _, n := range names {
		width = max(width, cli.TextWidth([]byte(n)))
	}
	for _, name := range names {
		text, err := f.identify(name)
		if err != nil {
			return err
		}
		if !f.brief {
			f.title(name, width)
		}
		fmt.Fprintln(f.c.Stdout, text)
		if err := cli.Stopped(ctx, f.c); err != nil {
			return err
		}
	}
	return f.c.Stdout.Err()
}

func (f *identifier) title(name string, width int) {
	if name == "-" {
		name = "/dev/stdin"
	}
	gap := strings.Repeat(" ", max(0, width-cli.TextWidth([]byte(name))))
	if f.ragged {
		gap = ""
	}
	if f.nul {
		f.separator = "\x00" + strings.TrimPrefix(f.separator, "\x00")
	}
	f.c.Stdout.WriteString(name + f.separator + gap + " ")
}

// identify says what one file is. Its error is one that ends the script.
func (f *identifier) identify(name string) (string, error) {
	if shell.IsStdin(name) {
		head, err := headOfReader(f.c.Stdin)
		return f.spell(sniffKind(head, int64(len(head)))), err
	}
	fi, err := lookAt(f.c, name, f.follow)
	if err != nil {
		return fmt.Sprintf("cannot open `%s' (%s)", name, vfs.Reason(err)), nil
	}
	switch cli.TypeLetter(fi.Mode()) {
	case 'd':
		return f.spell(dataKind{"directory", "inode/directory", "binary"}), nil
	case 'l':
		return f.link(name), nil
	case 'c':
		return f.spell(dataKind{"character special", "inode/chardevice", "binary"}), nil
	}
	file, err := f.c.OpenBytes(name)
	if err != nil {
		return fmt.Sprintf("regular file, no read permission (%s)", vfs.Reason(err)), nil
	}
	defer file.Close()
	head, err := headOfReader(file)
	return f.spell(sniffKind(head, fi.Size())), err
}

func (f *identifier) link(name string) string {
	target, _ := f.c.FS.Readlink(f.c.Path(name))
	text := "symbolic link to " + target
	if _, err := f.c.FS.Stat(f.c.Path(name)); err != nil && errors.Is(err, fs.ErrNotExist) {
		text = "broken symbolic link to " + target
	}
	return f.spell(dataKind{text, "inode/symlink", "binary"})
}

func (f *identifier) spell(k dataKind) string {
	switch {
	case f.mimeType && f.mimeEncoding:
		return k.mime + "; charset=" + k.charset
	case f.mimeType:
		return k.mime
	case f.mimeEncoding:
		return k.charset
	}
	return k.text
}

// sniffBytes is how much of a file is looked at.
const sniffBytes = 64 << 10

func headOfReader(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, sniffBytes))
}
