package data

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Uuencode = shell.Command{Name: "uuencode", Run: runUuencode}

func runUuencode(_ context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	base, encodeName := false, false
	names, err := cli.Parse(c, cli.Flags{"m": &base, "e": &encodeName})
	if err != nil {
		return err
	}
	if len(names) == 0 || len(names) > 2 {
		return shell.ErrUsage
	}
	in, mode := io.Reader(c.Stdin), 0o644
	if len(names) == 2 && !shell.IsStdin(names[0]) {
		f, err := c.OpenBytes(names[0])
		if err != nil {
			fmt.Fprintf(c.Stderr, "uuencode fatal error:\nfserr 2 (%s) performing 'freopen of stdin' on %s\n", vfs.Reason(err),
				names[0])
			return shell.Status(1)
		}
		defer f.Close()
		if info, err := f.Stat(); err == nil {
			mode = int(info.Mode().Perm())
		}
		in = f
	}
	kind, name := "begin", names[len(names)-1]
	if base {
		kind = "begin-base64"
	}
	if encodeName {
		kind, name = kind+"-encoded", base64.StdEncoding.EncodeToString([]byte(name))
	}
	fmt.Fprintf(c.Stdout, "%s %o %s\n", kind, mode, name)
	if base {
		baseCodec{base64.StdEncoding, 3, 4}.encode(c.Stdout, in, 60)
		c.Stdout.WriteString("====\n")
	} else {
		eachRow(in, 45, true, func(data []byte, _ bool) { c.Stdout.Write(uuLine(data)) }, nil)
		c.Stdout.WriteString("`\nend\n")
	}
	return c.Stdout.Err()
}

// uuLine is a length and the bytes, six bits to a letter.
func uuLine(data []byte) []byte {
	line := []byte{uuLetter(byte(len(data)))}
	for len(data) > 0 {
		var g [3]byte
		n := copy(g[:], data)
		data = data[n:]
		line = append(line, uuLetter(g[0]>>2), uuLetter(g[0]<<4|g[1]>>4), uuLetter(g[1]<<2|g[2]>>6), uuLetter(g[2]))
	}
	return append(line, '\n')
}

func uuLetter(v byte) byte {
	if v &= 63; v != 0 {
		return ' ' + v
	}
	return '`'
}
