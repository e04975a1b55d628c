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
	f := &identifier{c: c, separator: ":"}
	var listed []string
	operands, err := cli.Parse(c, cli.Flags{
		"b": &f.brief, "L": &f.follow, "h": cli.Set(&f.follow, false), "N": &f.ragged, "F": &f.separator, "0": &f.nul,
		"i": []*bool{&f.mimeType, &f.mimeEncoding}, "mime-type": &f.mimeType, "mime-encoding": &f.mimeEncoding,
		"f": func(v string) error {
			names, err := c.FS.ReadFile(c.Path(v))
			if err != nil {
				return fmt.Errorf("Cannot open `%s' (%s)", v, vfs.Reason(err))
			}
			listed = append(listed, strings.Fields(string(names))...)
			return nil
		},
		"z": cli.Unavailable,
	})
	if err != nil {
		return err
	}
	if operands = append(operands, listed...); len(operands) == 0 {
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

// identify describes one file. An error ends the script.
func (f *identifier) identify(name string) (string, error) {
	if shell.IsStdin(name) {
		head, err := headOfReader(f.c.Stdin)
		return f.format(sniffKind(head, int64(len(head)))), err
	}
	fi, err := stat(f.c, name, f.follow)
	if err != nil {
		return fmt.Sprintf("cannot open `%s' (%s)", name, vfs.Reason(err)), nil
	}
	switch cli.TypeLetter(fi.Mode()) {
	case 'd':
		return f.format(dataKind{"directory", "inode/directory", "binary"}), nil
	case 'l':
		return f.link(name), nil
	case 'c':
		return f.format(dataKind{"character special", "inode/chardevice", "binary"}), nil
	}
	file, err := f.c.OpenBytes(name)
	if err != nil {
		return fmt.Sprintf("regular file, no read permission (%s)", vfs.Reason(err)), nil
	}
	defer file.Close()
	head, err := headOfReader(file)
	return f.format(sniffKind(head, fi.Size())), err
}

func (f *identifier) link(name string) string {
	target := readlink(f.c, f.c.Path(name))
	text := "symbolic link to " + target
	if _, err := f.c.FS.Stat(f.c.Path(name)); err != nil && errors.Is(err, fs.ErrNotExist) {
		text = "broken symbolic link to " + target
	}
	return f.format(dataKind{text, "inode/symlink", "binary"})
}

func (f *identifier) format(k dataKind) string {
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

// sniffBytes is how much of a file is read.
const sniffBytes = 64 << 10

func headOfReader(r io.Reader) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, sniffBytes))
}
