package jq

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"hako/run/fault"
)

// A Regexp is a compiled pattern. Matching in Go cannot be interrupted, so
// whatever may take long is fed to it rune by rune by a reader that ends when
// the script does.
type Regexp struct {
	first *regexp.Regexp // from the beginning of a text
	later *regexp.Regexp // after one character that only gives the context
	size  int            // instructions
}

// cost is the work for one rune: every instruction may look at it.
func (re *Regexp) cost() int64 { return 64 + 16*int64(re.size) }

// quick is how much work, in bytes times instructions, is done in one go.
const quick = 1 << 17

// nativeMatch finds a regular expression: _match(re; flags; testing).
func nativeMatch(r *Run, v any, a []any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return nil, r.fail("%s (%s) cannot be matched, as it is not a string", typeOf(v), r.preview(v))
	}
	re, global, err := r.regexp(a[0], a[1])
	if err != nil {
		return nil, err
	}
	if a[2] == true {
		loc, err := r.find(re, s, 0)
		return loc != nil, err
	}
	var out []any
	at, chars := 0, 0 // position in bytes and in characters
	err = r.matches(re, s, global, func(loc []int) error {
		chars += utf8.RuneCountInString(s[at:loc[0]])
		at = loc[0]
		m, err := r.match(re.first, s, loc, chars)
		out = append(out, m)
		return err
	})
	return NewArray(out...), err
}

// matches calls found with each place in turn.
func (r *Run) matches(re *Regexp, s string, global bool, found func([]int) error) error {
	if global && len(s)*re.size <= quick {
		if err := r.Spend(int64(8 * len(s) * re.size)); err != nil {
			return err
		}
		for _, loc := range re.first.FindAllStringSubmatchIndex(s, -1) {
			if err := found(loc); err != nil {
				return err
			}
		}
		return nil
	}
	for at, end := 0, -1; at <= len(s); {
		loc, err := r.find(re, s, at)
		if err != nil || loc == nil {
			return err
		}
		if loc[1] > loc[0] || loc[0] != end { // no empty match right after another
			if err := found(loc); err != nil || !global {
				return err
			}
		}
		at, end = loc[1], loc[1]
		if loc[1] == loc[0] {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += max(size, 1)
		}
	}
	return nil
}

// find looks for the first match that begins at a position or after it.
func (r *Run) find(re *Regexp, s string, at int) ([]int, error) {
	if err := r.step(); err != nil {
		return nil, err
	}
	if at == 0 {
		if len(s)*re.size <= quick {
			return re.first.FindStringSubmatchIndex(s), r.Spend(int64(8 * len(s) * re.size))
		}
		in := &runeReader{r: r, s: s, cost: re.cost()}
		loc := re.first.FindReaderSubmatchIndex(in)
		return loc, in.Err
	}
	_, back := utf8.DecodeLastRuneInString(s[:at])
	in := &runeReader{r: r, s: s[at-back:], cost: re.cost()}
	loc := re.later.FindReaderSubmatchIndex(in)
	if loc == nil || in.Err != nil {
		return nil, in.Err
	}
	loc = loc[2:] // the first group is the match proper
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += at - back
		}
	}
	return loc, nil
}

// runeReader is a text that ends early when the script must end.
type runeReader struct {
	r    *Run
	s    string
	cost int64 // of one rune, in bytes looked at
	Err  error
}

// ReadRune implements io.RuneReader.
func (j *runeReader) ReadRune() (rune, int, error) {
	if j.Err == nil {
		j.Err = j.r.Spend(j.cost)
	}
	if j.s == "" || j.Err != nil {
		return 0, 0, io.EOF
	}
	ch, size := utf8.DecodeRuneInString(j.s)
	j.s = j.s[size:]
	return ch, size, nil
}

func (r *Run) match(re *regexp.Regexp, s string, loc []int, chars int) (any, error) {
	if err := r.Alloc(int64(256+320*(len(loc)/2-1)+(loc[1]-loc[0])*len(loc)/2) + 16); err != nil {
		return nil, err
	}
	m := NewObject(4)
	m.Put("offset", float64(chars))
	m.Put("length", float64(utf8.RuneCountInString(s[loc[0]:loc[1]])))
	m.Put("string", clonePart(s, s[loc[0]:loc[1]]))
	captures := NewArray()
	for i, name := range re.SubexpNames()[1:] {
		c := NewObject(4)
		from, to := loc[2*i+2], loc[2*i+3]
		if from < 0 {
			c.Put("offset", -1.0)
			c.Put("string", nil)
			c.Put("length", 0.0)
		} else {
			c.Put("offset", float64(chars+utf8.RuneCountInString(s[loc[0]:from])))
			c.Put("length", float64(utf8.RuneCountInString(s[from:to])))
			c.Put("string", clonePart(s, s[from:to]))
		}
		if name == "" {
			c.Put("name", nil)
		} else {
			c.Put("name", name)
		}
		captures.Items = append(captures.Items, c)
	}
	m.Put("captures", captures)
	return m, nil
}

// regexp compiles a pattern with the flags of jq: g all, i fold, x extended,
// s single line (dot matches newline), n no empty matches, l longest.
func (r *Run) regexp(pattern, flags any) (*Regexp, bool, error) {
	src, ok := pattern.(string)
	if !ok {
		return nil, false, r.fail("%s (%s) cannot be matched, as it is not a string", typeOf(pattern), r.preview(pattern))
	}
	text, ok := flags.(string)
	if !ok && flags != nil {
		return nil, false, r.fail("%s (%s) is not a string", typeOf(flags), r.preview(flags))
	}
	global, mode := false, ""
	for _, f := range text {
		switch f {
		case 'g':
			global = true
		case 'i':
			mode += "i"
		case 's', 'p':
			mode += "s"
		case 'x':
			src = extended(src)
		case 'n', 'l':
		default:
			return nil, false, r.fail("%s is not a valid modifier string", text)
		}
	}
	key := mode + ":" + src
	if re, ok := r.patterns[key]; ok {
		return re, global, nil
	}
	if mode != "" {
		src = "(?" + mode + ")" + src
	}
	re, err := r.compileRegexp(src)
	if fault.KindOf(err) == fault.Exhausted {
		return nil, false, err
	}
	if err != nil {
		return nil, false, r.fail("%s (at offset 0) is not a valid regex: %s", pattern,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if len(r.patterns) < 1000 {
		r.patterns[key] = re
		err = r.Keep(instSize*int64(re.size) + int64(len(key)))
	}
	return re, global, err
}

const (
	longestRegexp = 64 << 10  // bytes
	largestRegexp = 100 << 10 // instructions
	instSize      = 400       // bytes of memory for an instruction, in all forms
)

// compileRegexp compiles both forms of a pattern. Go's compiler cannot be
// interrupted, and a short pattern can ask for millions of instructions, so
// they are counted first.
func (r *Run) compileRegexp(src string) (*Regexp, error) {
	if len(src) > longestRegexp {
		return nil, fmt.Errorf("it is longer than %d KB", longestRegexp>>10)
	}
	tree, err := syntax.Parse(src, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := regexpSize(tree)
	if size > largestRegexp {
		return nil, fmt.Errorf("it would take %d instructions, and the limit is %d", size, largestRegexp)
	}
	if err := cmp.Or(r.Alloc(instSize*size), r.Spend(1000*size)); err != nil {
		return nil, err
	}
	return compileJqRegexp(src, tree)
}

// regexpSize is about how many instructions a pattern becomes when its counted
// repetitions are written out. Go bounds the depth of the tree.
func regexpSize(re *syntax.Regexp) int64 {
	size := int64(2 + len(re.Rune)/8)
	if re.Op == syntax.OpLiteral {
		size = int64(2 + len(re.Rune))
	}
	for _, sub := range re.Sub {
		size += regexpSize(sub)
	}
	if re.Op == syntax.OpRepeat {
		size *= int64(max(re.Min, re.Max, 1))
	}
	return size
}

func compileJqRegexp(src string, tree *syntax.Regexp) (*Regexp, error) {
	first, err := regexp.Compile(src)
	if err != nil {
		return nil, err
	}
	later, err := regexp.Compile(`\A(?s:.)(?s:.*?)(` + src + `)`)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	return &Regexp{first, later, len(prog.Inst)}, nil
}

// extended takes white space and comments out of a pattern.
func extended(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s):
			b.WriteString(s[i : i+2])
			i++
		case strings.IndexByte(space, s[i]) >= 0:
		case s[i] == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
