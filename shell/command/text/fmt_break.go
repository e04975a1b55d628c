package text

import "math"

// The costs of line breaks. They are squares of columns: a line that is ten times as far
// from the goal is a hundred times as bad.
const (
	costLine     = 70 * 70   // every line
	costNoBreak  = 600 * 600 // between words that only look like the end of a sentence
	bonusEnd     = 50 * 50   // after a sentence
	bonusPunct   = 40 * 40   // after punctuation
	bonusParen   = 40 * 40   // before a parenthesis
	costWidow    = 200 * 200 // a short first word of a sentence at a line's end
	costOrphan   = 150 * 150 // a short last word of a sentence at a line's start
	creditLine   = 3 * 3     // for each further line when a paragraph is cut
	costInfinity = math.MaxInt / 2
)

// flush prints the paragraph.
func (f *filler) flush() {
	if n := len(f.words); n > 0 {
		f.words[n-1].period, f.words[n-1].final = true, true
		f.choose()
		f.printUntil(len(f.words))
	}
	f.words, f.text, f.lastLength = f.words[:0], f.text[:0], 0
}

// relieve prints the first part of a paragraph that is too long.
func (f *filler) relieve() {
	f.choose()
	cut, best := len(f.words), costInfinity
	for w := f.words[0].nextBreak; w < len(f.words); w = f.words[w].nextBreak {
		next := 0
		if n := f.words[w].nextBreak; n < len(f.words) {
			next = f.words[n].toCost
		}
		if d := f.words[w].toCost - next; d < best {
			cut, best = w, d
		}
		if best <= costInfinity-creditLine {
			best += creditLine
		}
	}
	f.printUntil(cut)
	if cut == len(f.words) {
		f.words, f.text = f.words[:0], f.text[:0]
		return
	}
	from := f.words[cut].start
	f.text = append(f.text[:0], f.text[from:]...)
	f.words = append(f.words[:0], f.words[cut:]...)
	for i := range f.words {
		f.words[i].start -= from
	}
	f.firstIndent = f.otherIndent
}

// choose finds the cheapest breaks from the last word back to the first.
func (f *filler) choose() {
	prefix := len(f.shown)
	for start := len(f.words) - 1; start >= 0; start-- {
		length := f.otherIndent + prefix
		if start == 0 {
			length = f.firstIndent + prefix
		}
		w := &f.words[start]
		best := costInfinity
		length += w.length
		for next := start + 1; ; next++ {
			cost := f.lineCost(next, length)
			if next < len(f.words) {
				cost += f.words[next].toCost
			}
			if start == 0 && f.lastLength > 0 {
				cost += ragged(length - f.lastLength)
			}
			if cost < best {
				best, w.nextBreak, w.lineLength = cost, next, length
			}
			if next == len(f.words) {
				break
			}
			if length += f.words[next-1].space + f.words[next].length; length >= f.width {
				break
			}
		}
		w.toCost = best + f.wordCost(start)
	}
}

func ragged(n int) int { return 100 * n * n / 2 }

// lineCost returns the cost of a line of that length before word next.
func (f *filler) lineCost(next, length int) int {
	if next == len(f.words) {
		return 0
	}
	n := f.goal - length
	cost := 100 * n * n
	if w := f.words[next]; w.nextBreak != len(f.words) {
		cost += ragged(length - w.lineLength)
	}
	return cost
}

// wordCost returns the cost of a break before a word.
func (f *filler) wordCost(i int) int {
	cost := costLine
	if i > 0 {
		switch before := f.words[i-1]; {
		case before.period && before.final:
			cost -= bonusEnd
		case before.period:
			cost += costNoBreak
		case before.punct:
			cost -= bonusPunct
		case i > 1 && f.words[i-2].final:
			cost += costWidow / (before.length + 2)
		}
	}
	switch w := f.words[i]; {
	case w.paren:
		cost -= bonusParen
	case w.final:
		cost += costOrphan / (w.length + 2)
	}
	return cost
}

// printUntil prints the lines before word end.
func (f *filler) printUntil(end int) {
	indent := f.firstIndent
	for w := 0; w < end; w = f.words[w].nextBreak {
		f.c.Stdout.WriteString(f.shown)
		pad(f.c, ' ', indent)
		last := f.words[w].nextBreak - 1
		for i := w; i <= last; i++ {
			word := f.words[i]
			f.c.Stdout.Write(f.text[word.start : word.start+word.length])
			if i < last {
				pad(f.c, ' ', word.space)
			}
		}
		f.c.Stdout.WriteByte('\n')
		f.lastLength = f.words[w].lineLength
		indent = f.otherIndent
	}
}
