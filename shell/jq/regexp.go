package jq

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// A matcher is a compiled pattern. Matching in Go cannot be interrupted, so
// long texts are read rune by rune from a [runeReader], which ends
// the program when it must.
type matcher struct {
	first *regexp.Regexp // from the beginning of a text
	later *regexp.Regexp // after one character that only gives the context
	size  int            // instructions
}

// cost is the work for one rune: every instruction may read it.
func (re *matcher) cost() int64 { return 64 + 16*int64(re.size) }

// quick is how much work, in bytes times instructions, is done in one go.
const quick = 1 << 17

// nativeMatch finds a regular expression: _match(re; flags; testing).
func nativeMatch(r *Run, v any, a []any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return nil, r.fail("%s cannot be matched, as it is not a string", r.describe(v))
	}
	re, global, err := r.regexp(a[0], a[1])
	if err != nil {
		return nil, err
	}
	if a[2] == true {
		return r.find(re, s, 0) != nil, nil
	}
	var out []any
	at, chars := 0, 0 // position in bytes and in characters
	r.matches(re, s, global, func(loc []int) {
		chars += utf8.RuneCountInString(s[at:loc[0]])
		at = loc[0]
		out = append(out, r.match(re.first, s, loc, chars))
	})
	return NewArray(out...), nil
}

// matches calls found with the position of each match.
func (r *Run) matches(re *matcher, s string, global bool, found func([]int)) {
	if global && len(s)*re.size <= quick {
		r.Spend(int64(8 * len(s) * re.size))
		for _, loc := range re.first.FindAllStringSubmatchIndex(s, -1) {
			found(loc)
		}
		return
	}
	for at, end := 0, -1; at <= len(s); {
		loc := r.find(re, s, at)
		if loc == nil {
			return
		}
		if loc[1] > loc[0] || loc[0] != end { // no empty match right after another
			if found(loc); !global {
				return
			}
		}
		at, end = loc[1], loc[1]
		if loc[1] == loc[0] {
			_, size := utf8.DecodeRuneInString(s[at:])
			at += max(size, 1)
		}
	}
}

// find looks for the first match that begins at a position or after it.
func (r *Run) find(re *matcher, s string, at int) []int {
	r.step()
	if at == 0 && len(s)*re.size <= quick {
		r.Spend(int64(8 * len(s) * re.size))
		return re.first.FindStringSubmatchIndex(s)
	}
	if at == 0 {
		return re.first.FindReaderSubmatchIndex(&runeReader{r.Usage, strings.NewReader(s), re.cost()})
	}
	_, back := utf8.DecodeLastRuneInString(s[:at])
	loc := re.later.FindReaderSubmatchIndex(&runeReader{r.Usage, strings.NewReader(s[at-back:]), re.cost()})
	if loc == nil {
		return nil
	}
	loc = loc[2:] // the first group is the match proper
	for i := range loc {
		if loc[i] >= 0 {
			loc[i] += at - back
		}
	}
	return loc
}

// A runeReader counts the work of matching each rune.
type runeReader struct {
	usage *Usage
	in    *strings.Reader
	cost  int64 // of one rune
}

// ReadRune implements io.RuneReader.
func (r *runeReader) ReadRune() (rune, int, error) {
	r.usage.Spend(r.cost)
	return r.in.ReadRune()
}

// match is the object that match/1 returns.
func (r *Run) match(re *regexp.Regexp, s string, loc []int, chars int) *Object {
	r.Alloc(int64(256+320*(len(loc)/2-1)+(loc[1]-loc[0])*len(loc)/2) + 16)
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
	return m
}

// regexp compiles a pattern with the flags of jq: g all, i fold, x extended,
// s single line (dot matches newline), n no empty matches, l longest.
func (r *Run) regexp(pattern, flags any) (*matcher, bool, error) {
	src, ok := pattern.(string)
	if !ok {
		return nil, false, r.fail("%s cannot be matched, as it is not a string", r.describe(pattern))
	}
	text, ok := flags.(string)
	if !ok && flags != nil {
		return nil, false, r.fail("%s is not a string", r.describe(flags))
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
	if err != nil {
		return nil, false, r.fail("%s (at offset 0) is not a valid regex: %s", pattern,
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	if len(r.patterns) < 1000 {
		r.patterns[key] = re
		r.Keep(instSize*int64(re.size) + int64(len(key)))
	}
	return re, global, nil
}

const (
	longestRegexp = 64 << 10  // bytes
	largestRegexp = 100 << 10 // instructions
	instSize      = 400       // bytes of memory for an instruction, in all forms
)

// compileRegexp compiles both forms of a pattern. Go's compiler cannot be
// interrupted, and a short pattern can ask for millions of instructions, so
// they are counted first.
func (r *Run) compileRegexp(src string) (*matcher, error) {
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
	r.Alloc(instSize * size)
	r.Spend(1000 * size)
	return newMatcher(src, tree)
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

func newMatcher(src string, tree *syntax.Regexp) (*matcher, error) {
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
	return &matcher{first, later, len(prog.Inst)}, nil
}

// extended removes white space and comments from a pattern.
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
