package text

import (
	"context"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Sort = shell.Command{Name: "sort", Run: runSort}

// sorter holds the options of one call.
type sorter struct {
	keys   []sortKey
	global sortKey // what applies to keys without letters of their own

	sep                   int // -1: fields are separated by blanks
	end                   byte
	stable, unique, merge bool
	check                 byte // 0, c or C
	output                string
	lastResort            bool // equal keys: compare whole lines
	wholeLine             bool // nothing but bytewise order of lines
	seed                  uint64
	ctx                   context.Context
	workers               *sortWorkers
	store                 *sortStore
}

func runSort(ctx context.Context, c *shell.Call) error {
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	s := sorter{sep: -1, end: '\n', ctx: ctx, seed: sortSeed(c)}
	for _, o := range opts {
		if o.Name == "files0-from" {
			if names, err = names0(c, o.Value, names); err != nil {
				return err
			}
			if len(names) == 0 {
				return c.Fail(2, "no input from %s", cli.QuoteCurly(o.Value))
			}
			continue
		}
		if err := s.set(c, o); err != nil {
			return err
		}
	}
	if err := s.settle(c); err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{"-"}
	}
	return s.dispatch(c, names)
}

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

// sortSeed decides the order of -R.
func sortSeed(c *shell.Call) uint64 {
	if c.Seed != 0 || c.Now == nil {
		return c.Seed
	}
	return uint64(c.Now().UnixNano())
}

func (s *sorter) set(c *shell.Call, o cli.Option) error {
	switch o.Name {
	case "k":
		k, why := parseSortKey(o.Value)
		if why != "" {
			return c.Fail(2, "%s", why)
		}
		s.keys = append(s.keys, k)
	case "t":
		return s.setSeparator(c, o.Value)
	case "c", "C":
		s.check = o.Name[0]
	case "check":
		s.check = 'c'
		if o.Value == "quiet" || o.Value == "silent" {
			s.check = 'C'
		}
	case "m":
		s.merge = true
	case "o":
		s.output = o.Value
	case "s":
		s.stable = true
	case "u":
		s.unique = true
	case "z":
		s.end = 0
	case "compress-program":
		return c.Fail(2, "no program can be run from here: %s", o.Value)
	case "sort":
		letter, ok := map[string]byte{"general-numeric": 'g', "human-numeric": 'h', "month": 'M', "numeric": 'n',
			"random": 'R', "version": 'V'}[o.Value]
		if !ok {
			return cli.Misuse(c, "invalid argument %s for ‘--sort’", cli.QuoteCurly(o.Value))
		}
		s.global.letter(letter)
	default:
		if len(o.Name) == 1 {
			s.global.letter(o.Name[0])
		}
	}
	return nil
}

func (s *sorter) setSeparator(c *shell.Call, text string) error {
	switch {
	case text == `\0`:
		s.sep = 0
	case text == "":
		return c.Fail(2, "empty tab")
	case len(text) > 1:
		return c.Fail(2, "multi-character tab %s", cli.QuoteCurly(text))
	default:
		s.sep = int(text[0])
	}
	return nil
}

// settle completes the keys once all options are known.
func (s *sorter) settle(c *shell.Call) error {
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

// sortFiles reads everything, orders it and prints it.
func (s *sorter) sortFiles(c *shell.Call, names []string) error {
	s.store = &sortStore{gauge: c.Limiter, end: s.end}
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
	return s.toOutput(c, func(w *stream.Writer) error { return s.print(w, entries) })
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
	if in.File != nil {
		return s.store.load(in.File)
	}
	return s.store.load(in)
}

// toOutput gives print the file of -o, or standard output.
func (s *sorter) toOutput(c *shell.Call, print func(*stream.Writer) error) error {
	if s.output == "" {
		return print(c.Stdout)
	}
	f, err := c.Create(s.output)
	if err != nil {
		return c.Fail(2, "open failed: %s: %s", s.output, vfs.Reason(err))
	}
	defer f.Close()
	w := stream.NewWriter(f)
	defer w.Release()
	if err := print(w); err != nil {
		return err
	}
	return w.Flush()
}

// print copies the lines, with their terminators, straight out of the store.
func (s *sorter) print(w *stream.Writer, entries []sortEntry) error {
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

// letters spells the options of a key for an error message.
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
