package editor

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// A charset is how the characters of a file are written.
type charset struct {
	name  string
	codec encoding.Encoding  // nil means that callers see the bytes as they are
	width func(p []byte) int // the length of the first character, 0 if it is none; only with a codec
	ascii bool               // nothing but ASCII can be written, because nobody knows how
}

var (
	plainUTF8  = &charset{name: "UTF-8"}
	brokenUTF8 = &charset{name: "UTF-8 with broken characters"}
	unknownSet = &charset{name: "an unknown encoding", ascii: true}
	eucJP      = &charset{name: "EUC-JP", codec: japanese.EUCJP, width: widthEUC}
	shiftJIS   = &charset{name: "Shift_JIS", codec: japanese.ShiftJIS, width: widthShiftJIS}
)

// guess tells how a file is written, and returns it as UTF-8.
func guess(raw []byte) (*charset, []byte) {
	if utf8.Valid(raw) {
		return plainUTF8, raw
	}
	// Much of what is UTF-8 could be Shift_JIS too, though it would read
	// strangely. A few broken bytes do not make a text Japanese.
	if good, bad := characters(raw); good > bad {
		return brokenUTF8, raw
	}
	// Nearly all EUC-JP could be Shift_JIS, hardly any Shift_JIS EUC-JP.
	for _, set := range []*charset{eucJP, shiftJIS} {
		if text, ok := set.decode(raw); ok {
			return set, text
		}
	}
	return unknownSet, raw
}

// characters counts those of several bytes, and the bytes that belong to none.
func characters(raw []byte) (good, bad int) {
	for len(raw) > 0 {
		r, n := utf8.DecodeRune(raw)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		raw = raw[n:]
	}
	return good, bad
}

func (s *charset) decode(raw []byte) ([]byte, bool) {
	if s.codec == nil {
		return raw, true
	}
	for rest := raw; len(rest) > 0; {
		n := s.width(rest)
		if n == 0 {
			return nil, false
		}
		rest = rest[n:]
	}
	text, err := s.codec.NewDecoder().Bytes(raw)
	return text, err == nil && !bytes.ContainsRune(text, utf8.RuneError)
}

// encode writes a text the way of the file. A character that does not come back
// as itself is refused: "¥" would become a backslash in Shift_JIS.
func (s *charset) encode(text string) ([]byte, error) {
	if s.codec == nil && !s.ascii {
		return []byte(text), nil
	}
	if raw, ok := s.exactly(text); ok {
		return raw, nil
	}
	for _, r := range text {
		_, ok := s.exactly(string(r))
		if !ok && s.ascii {
			return nil, fmt.Errorf("the encoding of the file is unknown, and %q (%U) is not ASCII", r, r)
		}
		if !ok {
			return nil, fmt.Errorf("%s has no %q (%U)", s.name, r, r)
		}
	}
	return nil, fmt.Errorf("%s cannot hold this text", s.name)
}

func (s *charset) exactly(text string) ([]byte, bool) {
	if s.ascii {
		return []byte(text), bytes.IndexFunc([]byte(text), func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	}
	raw, err := s.codec.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, false
	}
	back, ok := s.decode(raw)
	return raw, ok && string(back) == text
}

// skip returns how many bytes the first n characters of a file have.
func (s *charset) skip(raw []byte, n int) int {
	at := 0
	for range n {
		at += s.width(raw[at:])
	}
	return at
}

func widthShiftJIS(p []byte) int {
	switch c := p[0]; {
	case c < 0x80, c >= 0xa1 && c <= 0xdf:
		return 1
	case c >= 0x81 && c <= 0x9f, c >= 0xe0 && c <= 0xfc:
		return within(p, 2, 0x40, 0xfc)
	}
	return 0
}

func widthEUC(p []byte) int {
	switch c := p[0]; {
	case c < 0x80:
		return 1
	case c == 0x8e:
		return within(p, 2, 0xa1, 0xdf)
	case c == 0x8f:
		return within(p, 3, 0xa1, 0xfe)
	case c >= 0xa1 && c <= 0xfe:
		return within(p, 2, 0xa1, 0xfe)
	}
	return 0
}

// within returns n if all but the first of n bytes are between low and high.
func within(p []byte, n int, low, high byte) int {
	if len(p) < n {
		return 0
	}
	for _, c := range p[1:n] {
		if c < low || c > high {
			return 0
		}
	}
	return n
}
