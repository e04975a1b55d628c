// Package tokens counts the tokens of a text exactly, as OpenAI's current models
// count them (o200k).
//
// The vocabulary takes some tens of milliseconds to set up, once, when the first
// text is counted; a program that counts none does not pay for it. Guessing, for
// those in a hurry, is [llm.Estimate]. The one rule to keep: the time it takes
// grows with the text and no faster, whatever the text is.
package tokens

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"

	"hako/llm"
)

var o200k = sync.OnceValue(codec.NewO200kBase)

// window is how much is counted at once. A single word of n bytes takes n² steps.
const window = 1024

// Count returns the number of tokens of a text. It is exact, but for words and
// rows of signs of more than 1 KB, of which each further 1 KB may count one token
// more. Bytes that are not UTF-8 count as what they are sent as, U+FFFD.
func Count(text string) (int, error) {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	total := 0
	for text != "" {
		at, _ := cut(text, window)
		n, err := o200k().Count(text[:at])
		if err != nil {
			return 0, fmt.Errorf("count tokens: %w", err)
		}
		total += n
		text = text[at:]
	}
	return total, nil
}

// cut returns where to divide a text so that the first part is not longer than
// most. If exact, the parts have as many tokens as the whole: they meet at the
// end of a word or number, and a token never goes on from there.
func cut(text string, most int) (at int, exact bool) {
	if len(text) <= most {
		return len(text), true
	}
	for end := most; end > 0; {
		last, size := utf8.DecodeLastRuneInString(text[:end])
		after, _ := utf8.DecodeRuneInString(text[end:])
		if ends(last, after) {
			return end, true
		}
		if at == 0 && utf8.RuneStart(text[end]) {
			at = end // for a text without either
		}
		end -= size
	}
	return max(at, 1), false
}

// ends tells whether a word or number is over with its last character. A word
// may go on with a letter, an accent, or the apostrophe of don't.
func ends(last, after rune) bool {
	switch {
	case after == utf8.RuneError: // in the middle of a character, perhaps
		return false
	case unicode.IsLetter(last):
		return after != '\'' && !unicode.IsLetter(after) && !unicode.IsMark(after)
	}
	return unicode.IsNumber(last) && !unicode.IsNumber(after)
}

// Request counts what is the same in every request of a dialog: the system text
// and the tools. What providers wrap around them is not counted.
func Request(d *llm.Dialog) (int, error) {
	total, err := Count(d.System)
	if err != nil {
		return 0, err
	}
	for _, t := range d.Tools {
		var schema bytes.Buffer
		if err := json.Compact(&schema, t.Schema); err != nil && len(t.Schema) > 0 {
			return 0, fmt.Errorf("count tokens of %s: its schema is not JSON: %w", t.Name, err)
		}
		for _, text := range []string{t.Name, t.Text, schema.String()} {
			n, err := Count(text)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
	return total, nil
}
