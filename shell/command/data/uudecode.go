package data

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Uudecode = shell.Command{Name: "uudecode", Run: runUudecode}

func runUudecode(_ context.Context, c *shell.Call) error {
	to := ""
	names, err := cli.Parse(c, cli.Flags{"o": &to})
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return uudecode(c, "standard input", c.Stdin, to)
	}
	for _, name := range names {
		f, err := c.OpenBytes(name)
		if err != nil {
			return c.Fail(4, "%s: %s", name, vfs.Reason(err))
		}
		in := c.Reader(f)
		err = uudecode(c, name, in, to)
		in.Release()
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

var errShortUu = errors.New("Short file")

// uudecode decodes the first encoded file of a stream.
func uudecode(c *shell.Call, label string, in *stream.Reader, to string) error {
	name, mode, base, err := uuBegin(in)
	if err == nil {
		err = uuBody(c, in, cmp.Or(to, name), mode, base)
	}
	if errors.Is(err, io.EOF) {
		fmt.Fprintf(c.Stderr, "uudecode fatal error:\n%s: Invalid or missing 'begin' line\n", label)
		return shell.Status(2)
	}
	if err == errShortUu {
		fmt.Fprintf(c.Stderr, "uudecode fatal error:\n%s: %v\n", label, err)
		return shell.Status(2)
	}
	return err
}

func uuBegin(in *stream.Reader) (name string, mode fs.FileMode, base bool, err error) {
	for {
		line, err := in.Line()
		if err != nil {
			return "", 0, false, err
		}
		words := strings.SplitN(strings.TrimRight(string(line), "\r\n"), " ", 3)
		if len(words) != 3 || !strings.HasPrefix(words[0], "begin") {
			continue
		}
		bits, err := strconv.ParseUint(words[1], 8, 32)
		if err != nil {
			continue
		}
		kind, encoded := strings.CutSuffix(words[0], "-encoded")
		if kind != "begin" && kind != "begin-base64" {
			continue
		}
		if encoded {
			plain, _ := base64.StdEncoding.DecodeString(words[2])
			words[2] = string(plain)
		}
		return words[2], fs.FileMode(bits) & 0o777, kind == "begin-base64", nil
	}
}

func uuBody(c *shell.Call, in *stream.Reader, to string, mode fs.FileMode, base bool) error {
	w := io.Writer(c.Stdout)
	if to != "-" && to != "/dev/stdout" {
		f, err := c.FS.Open(c.Path(to), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return c.Fail(4, "%s: %s", to, vfs.Reason(err))
		}
		defer c.FS.Chmod(c.Path(to), mode)
		defer f.Close()
		out := stream.NewWriter(f)
		defer out.Flush()
		w = out
	}
	for {
		line, err := in.Line()
		if err == io.EOF {
			return errShortUu
		}
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		data, end := uuDecodeLine(line, base)
		if end {
			return nil
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
}

func uuDecodeLine(line []byte, base bool) (data []byte, end bool) {
	if base {
		if bytes.Equal(line, []byte("====")) {
			return nil, true
		}
		data = make([]byte, base64.StdEncoding.DecodedLen(len(line)))
		n, _ := base64.StdEncoding.Decode(data, line)
		return data[:n], false
	}
	if len(line) == 0 {
		return nil, true
	}
	n := int(line[0]-' ') & 63
	if n == 0 {
		return nil, true
	}
	for line = line[1:]; len(data) < n; {
		var g [4]byte
		line = line[copy(g[:], line):]
		for i := range g {
			g[i] = (g[i] - ' ') & 63
		}
		data = append(data, g[0]<<2|g[1]>>4, g[1]<<4|g[2]>>2, g[2]<<6|g[3])
	}
	return data[:n], false
}
