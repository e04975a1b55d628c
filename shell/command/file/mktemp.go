package file

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Mktemp = shell.Command{Name: "mktemp", Run: runMktemp}

type tempMaker struct {
	c                      *shell.Call
	dir, dry, quiet, inTmp bool
	parent, suffix         string
	hasParent, hasSuffix   bool
}

func runMktemp(ctx context.Context, c *shell.Call) error {
	m := &tempMaker{c: c}
	operands, err := cli.Parse(c, cli.Flags{
		"d": &m.dir, "u": &m.dry, "q": &m.quiet, "t": &m.inTmp,
		"p tmpdir": func(v string) { m.parent, m.hasParent = v, true },
		"suffix":   func(v string) { m.suffix, m.hasSuffix = v, true },
	})
	if err != nil {
		return err
	}
	if len(operands) > 1 {
		return cli.Misuse(c, "too many templates")
	}
	template := "tmp.XXXXXXXXXX"
	if len(operands) == 0 {
		m.hasParent = true
	} else {
		template = operands[0]
	}
	if _, _, _, err := m.split(template); err != nil {
		return c.Fail(1, "%v", err)
	}
	name, err := m.make(ctx, template)
	if err != nil {
		if !m.quiet {
			c.Warn("%v", err)
		}
		return shell.Status(1)
	}
	c.Stdout.WriteString(name + "\n")
	return nil
}

// split cuts a template into the parts before and after the X, and counts those.
func (m *tempMaker) split(template string) (head string, x int, tail string, err error) {
	if m.hasSuffix {
		if !strings.HasSuffix(template, "X") {
			return "", 0, "", fmt.Errorf("with --suffix, template %s must end in X", cli.QuoteCurly(template))
		}
		tail = m.suffix
		head = template
	} else {
		end := strings.LastIndexByte(template, 'X') + 1
		head, tail = template[:end], template[end:]
	}
	if strings.Contains(tail, "/") {
		return "", 0, "", fmt.Errorf("invalid suffix %s, contains directory separator", cli.QuoteCurly(tail))
	}
	stem := strings.TrimRight(head, "X")
	if x = len(head) - len(stem); x < 3 {
		return "", 0, "", fmt.Errorf("too few X's in template %s", cli.QuoteCurly(template))
	}
	return stem, x, tail, nil
}

func (m *tempMaker) make(ctx context.Context, template string) (string, error) {
	head, x, tail, err := m.split(template)
	if err != nil {
		return "", err
	}
	if m.hasParent || m.inTmp {
		if strings.HasPrefix(template, "/") {
			return "", fmt.Errorf("invalid template, %s; with --tmpdir, it may not be absolute", cli.QuoteCurly(template))
		}
		head = cli.Join(m.tmp(), head)
	}
	r := newRand(m.c)
	for range 1000 {
		name := head + randomName(r, x) + tail
		switch err := m.create(name); {
		case err == nil:
			return name, nil
		case !errors.Is(err, fs.ErrExist) || ctx.Err() != nil:
			return "", fmt.Errorf("failed to create %s via template %s: %s", m.kind(),
				cli.QuoteCurly(head+strings.Repeat("X", x)+tail), vfs.Reason(err))
		}
	}
	return "", fmt.Errorf("failed to create %s via template %s: File exists", m.kind(), cli.QuoteCurly(template))
}

func (m *tempMaker) kind() string {
	if m.dir {
		return "directory"
	}
	return "file"
}

func (m *tempMaker) tmp() string {
	dir, _ := m.c.Getenv("TMPDIR")
	return cmp.Or(m.parent, dir, "/tmp")
}

func (m *tempMaker) create(name string) error {
	abs := m.c.Path(name)
	switch {
	case m.dry:
		if _, err := m.c.FS.Lstat(abs); err == nil {
			return fs.ErrExist
		}
		if !cli.IsDir(m.c, path.Dir(abs)) {
			return fs.ErrNotExist
		}
		return nil
	case m.dir:
		return m.c.FS.Mkdir(abs, 0o700)
	}
	f, err := m.c.FS.Open(abs, os.O_RDWR|os.O_CREATE|os.O_EXCL|vfs.Binary, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// newRand returns a source of random numbers: repeatable if the session has a seed.
func newRand(c *shell.Call) *rand.Rand {
	if c.Seed != 0 {
		return rand.New(rand.NewPCG(c.Seed, 0))
	}
	return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
}

func randomName(r *rand.Rand, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	b := make([]byte, n)
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
	}
	return string(b)
}
