// Package tokens estimates how many tokens OpenAI's current models (o200k) make of a text.
//
// It divides a text as the tokenizer does, into words, numbers, punctuation and white space, and weighs each piece by
// what pieces of its kind and length cost on average. No vocabulary is needed. docs/models.md has the measured error.
// [llm.Estimate] is cheaper still, and on the high side.
package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"hako/llm"
)

// Count estimates the number of tokens of a text. The time it takes is linear.
func Count(text string) int {
	hundredths := 0
	for p := (pieces{rest: text}); p.rest != ""; {
		hundredths += p.next()
	}
	return (hundredths + 50) / 100
}

// Request estimates what is the same in every request of a dialog: the system text and the tools. What providers wrap
// around them is not counted.
func Request(d *llm.Dialog) (int, error) {
	total := Count(d.System)
	for _, t := range d.Tools {
		var schema bytes.Buffer
		if err := json.Compact(&schema, t.Schema); err != nil && len(t.Schema) > 0 {
			return 0, fmt.Errorf("count tokens of %s: its schema is not JSON: %w", t.Name, err)
		}
		total += Count(t.Name) + Count(t.Text) + Count(schema.String())
	}
	return total, nil
}

// pieces divides a text. Weights are hundredths of a token.
type pieces struct {
	rest  string
	space bool // the piece before was a single space, which belongs to this one
}

// next takes a piece off the text and returns its weight.
func (p *pieces) next() int {
	r, _ := utf8.DecodeRuneInString(p.rest)
	spaced := p.space
	p.space = false
	switch {
	case r == ' ' || r == '\t' || r == '\n' || r == '\r':
		return p.white()
	case asciiLetter(r):
		return p.word(spaced)
	case r >= '0' && r <= '9':
		return p.number(spaced)
	case r < utf8.RuneSelf && sign(byte(r)):
		return p.punctuation()
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー':
		n := p.take(cjk)
		return max(102, 71*n)
	}
	return p.other(r, spaced)
}

// take takes the characters that fit and returns how many there were.
func (p *pieces) take(fits func(rune) bool) (n int) {
	for i, r := range p.rest {
		if !fits(r) {
			p.rest = p.rest[i:]
			return n
		}
		n++
	}
	p.rest = ""
	return n
}

// white weighs white space: a line end with what is before it is one token, spaces before a word are one less than
// there are, together one token.
func (p *pieces) white() int {
	n, lines := 0, false
	for n < len(p.rest) && (p.rest[n] == ' ' || p.rest[n] == '\t' || p.rest[n] == '\n' || p.rest[n] == '\r') {
		if p.rest[n] == '\n' || p.rest[n] == '\r' {
			lines = true
		} else if lines {
			break
		}
		n++
	}
	last := p.rest[n-1]
	p.rest = p.rest[n:]
	switch {
	case lines || p.rest == "" || last == '\t' && n > 1:
		return 100
	case n == 1:
		p.space = true
		return 0
	}
	p.space = true
	return 100
}

// word weighs letters of ASCII. A word ends before a capital letter after small ones.
func (p *pieces) word(spaced bool) int {
	n := 0
	for n < len(p.rest) && p.rest[n] >= 'A' && p.rest[n] <= 'Z' {
		n++
	}
	capitals := n
	for n < len(p.rest) && p.rest[n] >= 'a' && p.rest[n] <= 'z' {
		n++
	}
	p.rest = p.rest[n:]
	if capitals > 2 {
		return max(115, 31*n)
	}
	weight := 100
	switch {
	case n >= 13:
		weight = 27 * n
	case n >= 8:
		weight = 100 + 8*(n-7)
	case n >= 4:
		weight = 103
	}
	if !spaced && n >= 4 {
		weight += 8 + 4*max(0, n-7)
	}
	return weight
}

// number weighs digits: three are a token. A space before them is one of its own.
func (p *pieces) number(spaced bool) int {
	weight := (p.take(func(r rune) bool { return r >= '0' && r <= '9' }) + 2) / 3 * 100
	if spaced {
		weight += 100
	}
	return weight
}

// punctuation weighs a row of signs with the line ends behind it. The same sign many times is few tokens.
func (p *pieces) punctuation() int {
	n, i := 0, 0
	for i < len(p.rest) && sign(p.rest[i]) {
		same := i
		for same < len(p.rest) && p.rest[same] == p.rest[i] {
			same++
		}
		n += min(same-i, 2) + (same-i)/16
		i = same
	}
	for i < len(p.rest) && (p.rest[i] == '\n' || p.rest[i] == '\r') {
		i++
	}
	run := p.rest[:i]
	p.rest = p.rest[i:]
	if strings.Contains(run, `":`) || strings.Contains(run, `",`) {
		return max(100, 32*n) // JSON has a few such rows, which are tokens
	}
	if i == 1 && p.rest != "" && asciiLetter(rune(p.rest[0])) {
		return 80 // .name and (name are one token where they are frequent
	}
	return max(100, 53*n-45)
}

// other weighs what is neither ASCII nor Chinese or Japanese.
func (p *pieces) other(r rune, spaced bool) int {
	switch {
	case unicode.Is(unicode.Hangul, r):
		return 65 * p.take(func(r rune) bool { return unicode.Is(unicode.Hangul, r) })
	case unicode.IsLetter(r):
		n := p.take(func(r rune) bool { return r >= utf8.RuneSelf && !cjk(r) && (unicode.IsLetter(r) || unicode.IsMark(r)) })
		return max(100, 38*n)
	}
	_, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	if r > 0xffff { // emoji
		return 180
	}
	if spaced {
		return 110
	}
	return 100
}

func asciiLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

func cjk(r rune) bool {
	return r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
}

func sign(c byte) bool {
	return c > ' ' && c < 0x7f && !asciiLetter(rune(c)) && (c < '0' || c > '9')
}
