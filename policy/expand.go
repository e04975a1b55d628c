package policy

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is one word of a command, as far as it is known before the script runs.
type word struct {
	value
	src    *syntax.Word
	head   string // of a late word, what it surely begins with
	splits bool   // of a late word, it may become several words, or none
}

// literal returns a word that stands for itself.
func literal(text string) word { return word{value: value{text: text}} }

func literals(texts ...string) []word {
	out := make([]word, len(texts))
	for i, text := range texts {
		out[i] = literal(text)
	}
	return out
}

// with returns the word with another text, such as a part of it.
func (w word) with(text string) word { return word{value: value{text, w.late, w.loose}, src: w.src} }

// String returns the word as it is shown: late words as written.
func (w word) String() string {
	if !w.late || w.src == nil {
		return w.text
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, w.src); err != nil {
		return w.text
	}
	return b.String()
}

// insideName stands for an unknown name inside the root, so that "$f/../.." is seen to leave it.
const insideName = "x"

// maxFields bounds the words one word may become by brace expansion.
const maxFields = 256

// maxWords bounds the words of one command.
const maxWords = 1 << 15

// A fieldList collects the words that one shell word expands to.
type fieldList struct {
	w    *walker
	src  *syntax.Word
	out  []word
	cur  []byte
	part word // flags of the current field
	open bool // the current field exists even when empty
}

func (f *fieldList) end() {
	if f.open || len(f.cur) > 0 || f.part.late {
		f.w.cost.spend(2 * costWord)
		f.part.text, f.part.src = string(f.cur), f.src
		f.out = append(f.out, f.part)
	}
	f.cur, f.part, f.open = nil, word{}, false
}

// addText adds a value without splitting it.
func (f *fieldList) addText(v value) {
	f.w.cost.spend(1 + 2*len(v.text))
	if len(f.cur)+len(v.text) > maxScript {
		panic(overrun{"a word in it becomes longer than a megabyte"})
	}
	if v.late && !f.part.late {
		f.part.head = string(f.cur)
	}
	f.cur = append(f.cur, v.text...)
	f.part.late = f.part.late || v.late
	f.part.loose = f.part.loose || v.loose
}

// addSplit adds the value of an unquoted expansion, which the shell splits.
func (f *fieldList) addSplit(v value) {
	if f.w.sc.setsIFS() {
		v.late, v.loose = true, true // the script chose its own separators
	}
	text := v.text
	for {
		i := strings.IndexAny(text, " \t\n")
		if i < 0 {
			v.text = text
			f.addText(v)
			f.part.splits = f.part.splits || v.late
			return
		}
		v.text = text[:i]
		f.addText(v)
		f.part.splits = f.part.splits || v.late
		f.end()
		text = strings.TrimLeft(text[i:], " \t\n")
	}
}

// fields returns the words that src expands to, and judges what is nested in it.
func (w *walker) fields(src *syntax.Word) []word {
	if len(src.Parts) == 1 {
		if lit, ok := src.Parts[0].(*syntax.Lit); ok && plain(lit.Value) {
			return literals(lit.Value)
		}
	}
	w.cost.spend(costWord)
	words := []*syntax.Word{src}
	if n := braces(src); n > maxBraces {
		w.refuseStrict(refusal("brace expansion", "it has more than "+strconv.Itoa(maxBraces)+" braces",
			"write the words out, or use a loop"))
	} else if n > 0 {
		w.cost.spend(costWord*n + 10*n*n)
		cp := *src
		if syntax.SplitBraces(&cp) {
			words = w.braces(&cp)
		}
	}
	var out []word
	for _, one := range words {
		f := &fieldList{w: w, src: src}
		w.addParts(f, one.Parts, false)
		f.end()
		out = append(out, f.out...)
	}
	return out
}

// appendFields appends the fields of all words of a command.
func (w *walker) appendFields(out []word, words []*syntax.Word) []word {
	w.cost.spend(costWord * len(words))
	for _, src := range words {
		if len(out) > maxWords {
			w.refuse(nil, refusal("words", "a command has too many words to judge", "use a file and xargs, or a loop"))
			return out
		}
		if len(src.Parts) == 1 {
			if lit, ok := src.Parts[0].(*syntax.Lit); ok && plain(lit.Value) {
				out = append(out, literal(lit.Value))
				continue
			}
		}
		out = append(out, w.fields(src)...)
	}
	return out
}

// expandUnsplit expands a word that the shell does not split: an assigned value, the target of a redirection, a
// here-document.
func (w *walker) expandUnsplit(src *syntax.Word) value {
	if src == nil {
		return value{}
	}
	w.cost.spend(costWord)
	f := &fieldList{w: w, src: src}
	w.addParts(f, src.Parts, true)
	return value{text: string(f.cur), late: f.part.late, loose: f.part.loose}
}

func plain(s string) bool { return !strings.ContainsAny(s, `\{~`) }

// maxBraces bounds the braces of one word: matching them takes quadratic time.
const maxBraces = 1000

// braces counts the open braces of a word.
func braces(src *syntax.Word) int {
	n := 0
	for _, p := range src.Parts {
		if lit, ok := p.(*syntax.Lit); ok {
			n += strings.Count(lit.Value, "{")
		}
	}
	return n
}

// braces performs brace expansion. A sequence such as {1..9} counts as one unknown name.
func (w *walker) braces(src *syntax.Word) []*syntax.Word {
	all := []*syntax.Word{{}}
	for _, part := range src.Parts {
		br, ok := part.(*syntax.BraceExp)
		if !ok || br.Sequence {
			for _, one := range all {
				one.Parts = append(one.Parts, part)
			}
			continue
		}
		var next []*syntax.Word
		for _, head := range all {
			for _, elem := range br.Elems {
				for _, tail := range w.braces(elem) {
					next = append(next, w.joinWords(head, tail))
				}
				if len(next) > maxFields {
					w.refuseStrict(refusal("brace expansion", "it makes more than "+strconv.Itoa(maxFields)+" words",
						"write fewer alternatives, or use a loop"))
					return next[:maxFields]
				}
			}
		}
		all = next
	}
	return all
}

func (w *walker) joinWords(a, b *syntax.Word) *syntax.Word {
	w.cost.spend(costBrace + 2*costText*(len(a.Parts)+len(b.Parts)))
	parts := make([]syntax.WordPart, 0, len(a.Parts)+len(b.Parts))
	return &syntax.Word{Parts: append(append(parts, a.Parts...), b.Parts...)}
}

// addParts adds the parts of a word; whole prevents word splitting.
func (w *walker) addParts(f *fieldList, parts []syntax.WordPart, whole bool) {
	add := f.addSplit
	if whole {
		add = f.addText
	}
	for i, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text := unescape(part.Value)
			if i == 0 && len(f.cur) == 0 && strings.HasPrefix(part.Value, "~") {
				text = w.tilde(part.Value)
			}
			f.addText(value{text: text})
		case *syntax.SglQuoted:
			f.open = true
			f.addText(value{text: singleQuoted(part)})
		case *syntax.DblQuoted:
			f.open = true
			w.addQuoted(f, part.Parts)
		case *syntax.ParamExp:
			add(w.param(part))
		case *syntax.CmdSubst:
			add(w.substitution(part))
		case *syntax.ArithmExp:
			w.arithm(part.X)
			add(someNumber)
		case *syntax.ProcSubst:
			w.procSubst(part)
			f.addText(someName)
		case *syntax.ExtGlob:
			f.addText(value{text: part.Op.String() + part.Pattern.Value + ")"})
		case *syntax.BraceExp:
			f.addText(someName)
		}
	}
}

func (w *walker) addQuoted(f *fieldList, parts []syntax.WordPart) {
	for _, part := range parts {
		switch part := part.(type) {
		case *syntax.Lit:
			f.addText(value{text: unescapeQuoted(part.Value)})
		case *syntax.ParamExp:
			if w.addArgs(f, part) {
				continue
			}
			f.addText(w.param(part))
			f.part.splits = f.part.splits || f.part.late && isManyWords(part)
		case *syntax.CmdSubst:
			f.addText(w.substitution(part))
		case *syntax.ArithmExp:
			w.arithm(part.X)
			f.addText(someNumber)
		}
	}
}

// addArgs adds the elements of "$@" and "${a[@]}", each as a word, if they are known.
func (w *walker) addArgs(f *fieldList, part *syntax.ParamExp) bool {
	all := w.elementsOf(part)
	if all == nil {
		return false
	}
	f.open = false
	w.cost.spend(2 * costWord * len(all))
	for i, v := range all {
		if i > 0 {
			f.open = true
			f.end()
		}
		f.open = true
		f.addText(v)
	}
	return true
}

// isManyWords reports whether a part expands to several words even in quotes: "$@".
func isManyWords(part *syntax.ParamExp) bool {
	if part.Param != nil && part.Param.Value == "@" || part.Names != 0 {
		return true
	}
	index, ok := part.Index.(*syntax.Word)
	return ok && index.Lit() == "@"
}

// elementsOf returns the elements of "$@" or "${a[@]}", nil if unknown.
func (w *walker) elementsOf(part *syntax.ParamExp) []value {
	if part.Param == nil {
		return nil
	}
	if part.Param.Value == "@" && isPlainParam(part) {
		return w.sc.args
	}
	index, ok := part.Index.(*syntax.Word)
	if !ok || index.Lit() != "@" || part.Excl || part.Length || part.Slice != nil || part.Repl != nil || part.Exp != nil {
		return nil
	}
	return w.sc.arrays[part.Param.Value]
}

// tilde expands ~ and ~+. Other home directories are outside of the root.
func (w *walker) tilde(lit string) string {
	who, rest, slash := strings.Cut(lit, "/")
	if slash {
		rest = "/" + unescape(rest)
	}
	switch who {
	case "~":
		return w.home() + rest
	case "~+":
		if len(w.sc.dirs) == 1 {
			return w.sc.dirs[0] + rest
		}
	}
	return "/" + who + rest
}

func (w *walker) home() string {
	if w.p.opts.Home != "" {
		return w.p.opts.Home
	}
	return "/home"
}
