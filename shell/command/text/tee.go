package text

import (
	"context"
	"io"
	"os"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Tee = shell.Command{Name: "tee", Run: runTee}

func runTee(ctx context.Context, c *shell.Call) error {
	mode := os.O_TRUNC
	names, err := cli.Parse(c, cli.Flags{"a": cli.Set(&mode, os.O_APPEND)})
	if err != nil {
		return err
	}
	outs := []*stream.Writer{c.Stdout}
	for _, name := range names {
		switch name {
		case "/dev/stdout":
			outs = append(outs, c.Stdout)
			continue
		case "/dev/stderr":
			outs = append(outs, stream.NewWriter(c.Stderr))
			continue
		}
		f, err := c.OpenFile(name, os.O_WRONLY|os.O_CREATE|mode, 0o666)
		if err != nil {
			c.Warn("%s: %s", name, vfs.Reason(err))
			continue
		}
		defer f.Close()
		w := stream.NewWriter(f)
		defer w.Release()
		outs = append(outs, w)
	}
	return tee(c.Stdin, outs)
}

func tee(in *stream.Reader, outs []*stream.Writer) error {
	for {
		b, err := in.Chunk()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		for _, w := range outs {
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
	}
	for _, w := range outs[1:] {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return outs[0].Err()
}
