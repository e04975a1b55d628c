package editor

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// A charset is the encoding of a file.
type charset struct {
	name  string
	codec encoding.Encoding  // nil means that callers see the bytes unchanged
	width func(p []byte) int // length of the first character, 0 if it is invalid; only with a codec
	ascii bool               // only ASCII can be written, because the encoding is unknown
}

var (
	plainUTF8  = &charset{name: "UTF-8"}
	brokenUTF8 = &charset{name: "UTF-8 with broken characters"}
	unknownSet = &charset{name: "an unknown encoding", ascii: true}
	eucJP      = &charset{name: "EUC-JP", codec: japanese.EUCJP, width: widthEUC}
	shiftJIS   = &charset{name: "Shift_JIS", codec: japanese.ShiftJIS, width: widthShiftJIS}
)

// detect detects the encoding of a file and returns its text in UTF-8.
func detect(raw []byte) (*charset, []byte) {
	if utf8.Valid(raw) {
		return plainUTF8, raw
	}
	// Much UTF-8 is also valid Shift_JIS. A few invalid bytes do not make a text Japanese.
	if good, bad := countCharacters(raw); good > bad {
		return brokenUTF8, raw
	}
	// Nearly all EUC-JP is also valid Shift_JIS, but hardly any Shift_JIS is valid EUC-JP.
	for _, set := range []*charset{eucJP, shiftJIS} {
		if text, ok := set.decode(raw); ok {
			return set, text
		}
	}
	return unknownSet, raw
}

// countCharacters counts multibyte characters and invalid bytes.
func countCharacters(raw []byte) (good, bad int) {
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

// encode encodes a text. A character that does not survive a round trip is refused: "¥" would become a backslash in
// Shift_JIS.
func (s *charset) encode(text string) ([]byte, error) {
	if s.codec == nil && !s.ascii {
		return []byte(text), nil
	}
	if raw, ok := s.encodeExact(text); ok {
		return raw, nil
	}
	for _, r := range text {
		_, ok := s.encodeExact(string(r))
		if !ok && s.ascii {
			return nil, fmt.Errorf("the encoding of the file is unknown, and %q (%U) is not ASCII", r, r)
		}
		if !ok {
			return nil, fmt.Errorf("%s has no %q (%U)", s.name, r, r)
		}
	}
	return nil, fmt.Errorf("%s cannot hold this text", s.name)
}

func (s *charset) encodeExact(text string) ([]byte, bool) {
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

// skip returns the length in bytes of the first n characters.
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
		return checkTrailing(p, 2, 0x40, 0xfc)
	}
	return 0
}

func widthEUC(p []byte) int {
	switch c := p[0]; {
	case c < 0x80:
		return 1
	case c == 0x8e:
		return checkTrailing(p, 2, 0xa1, 0xdf)
	case c == 0x8f:
		return checkTrailing(p, 3, 0xa1, 0xfe)
	case c >= 0xa1 && c <= 0xfe:
		return checkTrailing(p, 2, 0xa1, 0xfe)
	}
	return 0
}

// checkTrailing returns n if bytes 2 to n are between low and high, else 0.
func checkTrailing(p []byte, n int, low, high byte) int {
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
