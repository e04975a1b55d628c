package text

import (
	"context"
	"errors"
	"unicode/utf8"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
)

var Tr = shell.Command{Name: "tr", Run: runTr}

type translator struct {
	complement, remove, squeeze, truncate bool
	set1, set2                            []rune
	out                                   *stream.Writer
	last                                  int // the last byte or rune written, for -s; -1 at first
}

func runTr(ctx context.Context, c *shell.Call) error {
	t := translator{out: c.Stdout, last: -1}
	names, err := cli.Parse(c, cli.Flags{
		"c C": &t.complement, "d": &t.remove, "s": &t.squeeze, "t": &t.truncate,
	})
	if err != nil {
		return err
	}
	if err := t.operands(c, names); err != nil {
		return err
	}
	if t.wide() {
		return t.runes(c.Stdin)
	}
	return t.bytes(c.Stdin)
}

// operands checks the number of operands, which depends on the options, and parses them.
func (t *translator) operands(c *shell.Call, names []string) error {
	one := t.remove != t.squeeze // one operand is enough
	switch {
	case len(names) == 0:
		return cli.Misuse(c, "missing operand")
	case len(names) == 1 && !one && t.remove:
		return cli.Misuse(c, "missing operand after ‘%s’\n"+
			"Two strings must be given when both deleting and squeezing repeats.", names[0])
	case len(names) == 1 && !one:
		return cli.Misuse(c, "missing operand after ‘%s’\nTwo strings must be given when translating.", names[0])
	case len(names) > 1 && one && t.remove:
		return cli.Misuse(c, "extra operand ‘%s’\n"+
			"Only one string may be given when deleting without squeezing repeats.", names[1])
	case len(names) > 2:
		return cli.Misuse(c, "extra operand ‘%s’", names[2])
	}
	translating := !t.remove && len(names) == 2
	set, err := parseTrSet(names[0])
	if err == nil && set.open >= 0 {
		err = errors.New("the [c*] repeat construct may not appear in string1")
	}
	t.set1 = set.runes
	if err == nil && len(names) > 1 {
		if set, err = parseTrSet(names[1]); err == nil {
			err = t.second(set, translating)
		}
	}
	if err != nil {
		return c.Fail(1, "%v", err)
	}
	return nil
}

// second extends the second set to the length of the first.
func (t *translator) second(set trSet, translating bool) error {
	if translating && set.otherClass {
		return errors.New("when translating, the only character classes that may appear in\nstring2 are 'upper' and 'lower'")
	}
	want := len(t.set1)
	if t.complement {
		want = 256
	}
	t.set2 = set.fill(want)
	switch {
	case !translating:
	case len(t.set2) == 0 && !t.truncate && want > 0:
		return errors.New("when not truncating set1, string2 must be non-empty")
	case t.truncate:
		t.set1 = t.set1[:min(len(t.set1), len(t.set2))]
	}
	return nil
}

// wide reports whether a set has a character of several bytes. Only then tr works on
// characters; otherwise it works on bytes, like GNU.
func (t *translator) wide() bool {
	for _, set := range [][]rune{t.set1, t.set2} {
		for _, r := range set {
			if r >= utf8.RuneSelf && !isRawByte(r) {
				return true
			}
		}
	}
	return false
}

// trTables has the result for each byte.
type trTables struct {
	to      [256]byte
	keep    [256]uint8
	squeeze [256]bool
}

func (t *translator) tables() *trTables {
	var in1 [256]bool
	for _, r := range t.set1 {
		in1[byte(r)] = true
	}
	list := make([]byte, 0, max(256, len(t.set1)))
	if t.complement {
		for i := range 256 {
			if !in1[i] {
				list = append(list, byte(i))
			}
		}
	} else {
		for _, r := range t.set1 {
			list = append(list, byte(r))
		}
	}
	var tab trTables
	for i := range 256 {
		tab.to[i], tab.keep[i] = byte(i), 1
	}
	translating := !t.remove && len(t.set2) > 0
	for i, b := range list {
		switch {
		case t.remove:
			tab.keep[b] = 0
		case translating && (i < len(t.set2) || !t.truncate):
			tab.to[b] = byte(t.set2[min(i, len(t.set2)-1)])
		}
		tab.squeeze[b] = tab.squeeze[b] || t.squeeze && len(t.set2) == 0
	}
	for _, r := range t.set2 {
		tab.squeeze[byte(r)] = t.squeeze
	}
	return &tab
}

// bytes translates whole chunks through a table, directly into the buffer of standard
// output.
func (t *translator) bytes(in *stream.Reader) error {
	tab := t.tables()
	work := tab.translate
	switch {
	case t.squeeze:
		work = func(dst, src []byte) int { return tab.squeezed(dst, src, &t.last) }
	case t.remove:
		work = tab.filter
	}
	for {
		b, err := in.Chunk()
		if err != nil {
			return cli.NotEOF(err)
		}
		for len(b) > 0 {
			dst := t.out.Free(1)
			n := min(len(b), len(dst))
			t.out.Advance(work(dst[:n], b[:n]))
			b = b[n:]
		}
		if err := t.out.Err(); err != nil {
			return err
		}
	}
}

func (tab *trTables) translate(dst, src []byte) int {
	n := len(src)
	dst = dst[:n]
	for len(src) >= 8 && len(dst) >= 8 {
		dst[0], dst[1], dst[2], dst[3] = tab.to[src[0]], tab.to[src[1]], tab.to[src[2]], tab.to[src[3]]
		dst[4], dst[5], dst[6], dst[7] = tab.to[src[4]], tab.to[src[5]], tab.to[src[6]], tab.to[src[7]]
		src, dst = src[8:], dst[8:]
	}
	for i, b := range src {
		dst[i] = tab.to[b]
	}
	return n
}

func (tab *trTables) filter(dst, src []byte) int {
	n := 0
	for _, b := range src {
		dst[n] = b
		n += int(tab.keep[b])
	}
	return n
}

func (tab *trTables) squeezed(dst, src []byte, last *int) int {
	n, prev := 0, *last
	for _, b := range src {
		if tab.keep[b] == 0 {
			continue
		}
		b = tab.to[b]
		if int(b) == prev && tab.squeeze[b] {
			continue
		}
		dst[n] = b
		prev = int(b)
		n++
	}
	*last = prev
	return n
}
