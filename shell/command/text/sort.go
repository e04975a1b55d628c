package text

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Sort = shell.Command{Name: "sort", Run: runSort}

// A sorter is one call of sort.
type sorter struct {
	keys   []sortKey
	global sortKey // applies to keys without options of their own

	sep                   int // -1: fields are separated by blanks
	end                   byte
	stable, unique, merge bool
	check                 byte // 0, c or C
	output                string
	lastResort            bool // equal keys: compare whole lines
	wholeLine             bool // lines are compared bytewise, without keys
	seed                  uint64
	ctx                   context.Context
	workers               *sortWorkers
	store                 *lineStore
}

func runSort(ctx context.Context, c *shell.Call) error {
	s := sorter{sep: -1, end: '\n', ctx: ctx, seed: sortSeed(c)}
	names, err := s.parse(c)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	return s.dispatch(c, names)
}

// parse sets the options and completes the keys, and returns the input files.
func (s *sorter) parse(c *shell.Call) (names []string, err error) {
	var lists []string
	names, err = cli.Parse(c, cli.Flags{
		"k": s.addKey, "t": s.setSeparator, "m": &s.merge, "o": &s.output, "s": &s.stable, "u": &s.unique,
		"z": cli.Set(&s.end, 0), "c": cli.Set(&s.check, 'c'), "C": cli.Set(&s.check, 'C'), "files0-from": &lists,
		"b d f g i M h n R r V": func(o cli.Option) error { s.global.letter(o.Name[0]); return nil },
		"check": func(how string) {
			s.check = 'c'
			if how == "quiet" || how == "silent" {
				s.check = 'C'
			}
		},
		"sort": func(order string) error {
			letter, ok := sortOrders[order]
			if !ok {
				return cli.Misuse(c, "invalid argument ‘%s’ for ‘--sort’", order)
			}
			s.global.letter(letter)
			return nil
		},
		"compress-program": cli.NoPrograms,
	})
	if err != nil {
		return nil, err
	}
	for _, from := range lists {
		if names, err = names0(c, from, names); err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, c.Fail(2, "no input from ‘%s’", from)
		}
	}
	return names, s.completeKeys(c)
}

var sortOrders = map[string]byte{"general-numeric": 'g', "human-numeric": 'h', "month": 'M', "numeric": 'n',
	"random": 'R', "version": 'V'}

func (s *sorter) dispatch(c *shell.Call, names []string) error {
	switch {
	case s.check != 0 && len(names) > 1:
		return c.Fail(2, "extra operand %s not allowed with -%c", cli.Quote(names[1]), s.check)
	case s.check != 0:
		return s.checkOrder(c, names[0])
	case s.merge:
		return s.mergeFiles(c, names)
	}
	return s.sortFiles(c, names)
}

// sortSeed returns the seed of -R.
func sortSeed(c *shell.Call) uint64 {
	if c.Seed != 0 || c.Now == nil {
		return c.Seed
	}
	return uint64(c.Now().UnixNano())
}

func (s *sorter) addKey(text string) error {
	k, err := parseSortKey(text)
	s.keys = append(s.keys, k)
	return err
}

func (s *sorter) setSeparator(text string) error {
	switch {
	case text == `\0`:
		s.sep = 0
	case text == "":
		return errors.New("empty tab")
	case len(text) > 1:
		return fmt.Errorf("multi-character tab ‘%s’", text)
	default:
		s.sep = int(text[0])
	}
	return nil
}

// completeKeys applies the global options to the keys.
func (s *sorter) completeKeys(c *shell.Call) error {
	for i := range s.keys {
		s.keys[i].inherit(s.global)
	}
	if len(s.keys) == 0 {
		k := s.global
		k.startField, k.startChar = 1, 1
		s.keys = []sortKey{k}
	}
	for _, k := range s.keys {
		if len(k.kinds) > 1 || k.kinds != "" && (k.dict || k.printing) {
			return c.Fail(2, "options '-%s' are incompatible", k.letters())
		}
	}
	s.wholeLine = len(s.keys) == 1 && s.keys[0].plainLine()
	s.lastResort = !s.stable && !s.unique && !s.wholeLine
	return nil
}

// sortFiles reads, sorts and prints all lines.
func (s *sorter) sortFiles(c *shell.Call, names []string) error {
	s.store = &lineStore{limiter: c.Limiter, end: s.end}
	defer s.store.free()
	for _, name := range names {
		if err := s.load(c, name); err != nil {
			return err
		}
	}
	s.workers = newSortWorkers()
	entries, err := s.store.index(s.workers)
	if err != nil {
		return err
	}
	s.order(entries)
	if err := s.ctx.Err(); err != nil {
		return context.Cause(s.ctx)
	}
	return toOutput(c, s.output, func(w *stream.Writer) error { return s.print(w, entries) })
}

func (s *sorter) load(c *shell.Call, name string) error {
	in, done, err := cli.OpenOperand(c, name)
	switch {
	case err == vfs.ErrIsDir:
		return c.Fail(2, "read failed: %s: %s", name, vfs.Reason(err))
	case err != nil:
		return c.Fail(2, "cannot read: %s: %s", name, vfs.Reason(err))
	}
	defer done()
	return s.store.loadInput(in)
}

// toOutput calls print with the file of -o, or standard output if name is empty.
func toOutput(c *shell.Call, name string, print func(*stream.Writer) error) error {
	if name == "" {
		return print(c.Stdout)
	}
	f, err := c.Create(name)
	if err != nil {
		return c.Fail(2, "open failed: %s: %s", name, vfs.Reason(err))
	}
	defer f.Close()
	w := stream.NewWriter(f)
	defer w.Release()
	if err := print(w); err != nil {
		return err
	}
	return w.Flush()
}

// print prints the lines.
func (s *sorter) print(w *stream.Writer, entries []lineEntry) error {
	var last []byte
	for i, e := range entries {
		line := s.store.withEnd(e)
		if s.unique {
			if i > 0 && s.compareKeys(last, line[:len(line)-1]) == 0 {
				continue
			}
			last = line[:len(line)-1]
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return w.Err()
}

// letters returns the options of a key for an error message.
func (k sortKey) letters() string {
	all := k.kinds
	if k.dict {
		all += "d"
	}
	if k.printing {
		all += "i"
	}
	var b strings.Builder
	for _, l := range "dghiMnRV" {
		if strings.ContainsRune(all, l) {
			b.WriteRune(l)
		}
	}
	return b.String()
}
