package text

import (
	"bytes"
	"context"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Shuf = shell.Command{Name: "shuf", Run: runShuf}

type shuffler struct {
	count        int64
	repeat, echo bool
	ranged       bool
	low, high    int64
	end          byte
	output       string
	random       *rand.Rand
	ctx          context.Context
}

func runShuf(ctx context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	seed := sortSeed(c)
	s := shuffler{count: math.MaxInt64, end: '\n', random: rand.New(rand.NewPCG(seed, seed^0x5851f42d4c957f2d)), ctx: ctx}
	for _, o := range opts {
		if err := s.set(c, o); err != nil {
			return err
		}
	}
	switch {
	case s.ranged && len(names) > 0:
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(names[0]))
	case !s.echo && len(names) > 1:
		return cli.Misuse(c, "extra operand %s", cli.QuoteCurly(names[1]))
	case s.ranged:
		return s.to(c, func(w *stream.Writer) error { return s.numbers(c, w) })
	}
	return s.lines(c, names)
}

func (s *shuffler) set(c *shell.Call, o cli.Option) error {
	switch o.Name {
	case "n":
		n, err := strconv.ParseUint(o.Value, 10, 63)
		if err != nil {
			return c.Fail(1, "invalid line count: %s", cli.QuoteCurly(o.Value))
		}
		s.count = min(s.count, int64(n))
	case "r":
		s.repeat = true
	case "e":
		s.echo = true
	case "o":
		s.output = o.Value
	case "z":
		s.end = 0
	case "i":
		from, to, ok := strings.Cut(o.Value, "-")
		low, err := strconv.ParseUint(from, 10, 62)
		high, err2 := strconv.ParseUint(to, 10, 62)
		if !ok || err != nil || err2 != nil || low > high+1 {
			return c.Fail(1, "invalid input range: %s", cli.QuoteCurly(o.Value))
		}
		s.ranged, s.low, s.high = true, int64(low), int64(high)
	}
	return nil
}

func (s *shuffler) to(c *shell.Call, print func(*stream.Writer) error) error {
	out := sorter{output: s.output}
	return out.toOutput(c, print)
}

// numbers draws from a range without listing it: only what was moved is kept.
func (s *shuffler) numbers(c *shell.Call, w *stream.Writer) error {
	size := s.high - s.low + 1
	moved := map[int64]int64{}
	at := func(i int64) int64 {
		if v, ok := moved[i]; ok {
			return v
		}
		return i
	}
	defer func() { c.Limiter.Hold(-int64(len(moved)) * 48) }()
	var buf []byte
	for i := int64(0); i < s.count && size > 0 && (s.repeat || i < size); i++ {
		v := s.random.Int64N(size)
		if !s.repeat {
			j := i + s.random.Int64N(size-i)
			v = at(j)
			before := len(moved)
			moved[j] = at(i)
			if err := c.Limiter.Hold(int64(len(moved)-before) * 48); err != nil {
				return err
			}
		}
		buf = append(strconv.AppendInt(buf[:0], s.low+v, 10), s.end)
		if _, err := w.Write(buf); err != nil {
			return err
		}
	}
	return w.Err()
}

// lines shuffles what sort's store holds.
func (s *shuffler) lines(c *shell.Call, names []string) error {
	store := &sortStore{gauge: c.Limiter, end: s.end}
	defer store.free()
	if err := s.load(c, store, names); err != nil {
		return err
	}
	entries, err := store.index(newSortWorkers())
	if err != nil {
		return err
	}
	if s.repeat && len(entries) == 0 && s.count > 0 {
		return c.Fail(1, "no lines to repeat")
	}
	return s.to(c, func(w *stream.Writer) error {
		for i := int64(0); i < s.count && (s.repeat || i < int64(len(entries))); i++ {
			j := s.random.IntN(len(entries))
			if !s.repeat {
				j = int(i) + s.random.IntN(len(entries)-int(i))
				entries[i], entries[j] = entries[j], entries[i]
				j = int(i)
			}
			if _, err := w.Write(store.withEnd(entries[j])); err != nil {
				return err
			}
		}
		return w.Err()
	})
}

func (s *shuffler) load(c *shell.Call, store *sortStore, names []string) error {
	if s.echo {
		var text bytes.Buffer
		for _, word := range names {
			text.WriteString(word)
			text.WriteByte(s.end)
		}
		return store.load(&text)
	}
	name := "-"
	if len(names) > 0 {
		name = names[0]
	}
	in, done, err := cli.OpenOperand(c, name)
	if err == vfs.ErrIsDir {
		return c.Fail(1, "read error: %s", vfs.Reason(err))
	}
	if err != nil {
		return c.Fail(1, "%s: %s", name, vfs.Reason(err))
	}
	defer done()
	var src io.Reader = in
	if in.File != nil {
		src = in.File
	}
	return store.load(src)
}
