package text

import (
	"context"
	"fmt"
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
	seed := sortSeed(c)
	s := shuffler{count: math.MaxInt64, end: '\n', random: rand.New(rand.NewPCG(seed, seed^0x5851f42d4c957f2d)), ctx: ctx}
	names, err := cli.Parse(c, cli.Flags{
		"r": &s.repeat, "e": &s.echo, "o": &s.output, "z": cli.Set(&s.end, 0), "i": s.setRange,
		"n": func(text string) error {
			most := s.count
			err := cli.Number(&s.count, 0, math.MaxInt64, "invalid line count: ‘%s’")(text)
			s.count = min(s.count, most)
			return err
		},
	})
	switch {
	case err != nil:
		return err
	case s.ranged && len(names) > 0:
		return cli.Misuse(c, "extra operand ‘%s’", names[0])
	case !s.echo && len(names) > 1:
		return cli.Misuse(c, "extra operand ‘%s’", names[1])
	case s.ranged:
		return toOutput(c, s.output, func(w *stream.Writer) error { return s.numbers(c, w) })
	}
	return s.lines(c, names)
}

func (s *shuffler) setRange(text string) error {
	from, to, ok := strings.Cut(text, "-")
	low, err := strconv.ParseUint(from, 10, 62)
	high, err2 := strconv.ParseUint(to, 10, 62)
	if !ok || err != nil || err2 != nil || low > high+1 {
		return fmt.Errorf("invalid input range: ‘%s’", text)
	}
	s.ranged, s.low, s.high = true, int64(low), int64(high)
	return nil
}

// numbers draws from a range without listing it: it keeps only the numbers that moved.
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

// lines shuffles the lines of the input.
func (s *shuffler) lines(c *shell.Call, names []string) (err error) {
	defer cli.Catch(&err)
	store := &lineStore{limiter: c.Limiter, end: s.end}
	defer store.free()
	s.load(c, store, names)
	entries, err := store.index(newSortWorkers())
	cli.Check(err)
	if s.repeat && len(entries) == 0 && s.count > 0 {
		return c.Fail(1, "no lines to repeat")
	}
	return toOutput(c, s.output, func(w *stream.Writer) error {
		for i := int64(0); i < s.count && (s.repeat || i < int64(len(entries))) && w.Err() == nil; i++ {
			j := s.random.IntN(len(entries))
			if !s.repeat {
				j = int(i) + s.random.IntN(len(entries)-int(i))
				entries[i], entries[j] = entries[j], entries[i]
				j = int(i)
			}
			w.Write(store.withEnd(entries[j]))
		}
		return w.Err()
	})
}

func (s *shuffler) load(c *shell.Call, store *lineStore, names []string) {
	if s.echo {
		text := ""
		if len(names) > 0 {
			text = strings.Join(names, string(s.end)) + string(s.end)
		}
		cli.Check(store.load(strings.NewReader(text)))
		return
	}
	name := append(names, "-")[0]
	in, done, err := cli.OpenOperand(c, name)
	switch {
	case err == vfs.ErrIsDir:
		cli.Check(c.Fail(1, "read error: %s", vfs.Reason(err)))
	case err != nil:
		cli.Check(c.Fail(1, "%s: %s", name, vfs.Reason(err)))
	}
	defer done()
	cli.Check(store.loadInput(in))
}
