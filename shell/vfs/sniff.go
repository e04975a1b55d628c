package vfs

import (
	"bytes"
	"os"
	"strings"
	"unicode/utf8"

	"hako/run/fault"
)

// sniffed is how much of a file is looked at.
const sniffed = 512

// sniff refuses a file that is not text. It does not move the position.
func sniff(f *os.File, name string) error {
	head := make([]byte, sniffed)
	n, _ := f.ReadAt(head, 0)
	if isText(head[:n], n == sniffed) {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "open", Subject: name, Why: "the file is not text",
		Hint: "convert it first, or read it with xxd, od, gunzip, tar…"}
}

// isText reports whether the beginning of a file looks like text: no NUL, and
// at most 30 % that does not print. Characters of UTF-8, Shift_JIS and EUC-JP
// print. If the text was cut, the last character may be incomplete.
func isText(head []byte, cut bool) bool {
	if bytes.IndexByte(head, 0) >= 0 {
		return false
	}
	odd, wrong := unprinted(head, cut, utf8Char)
	for _, charset := range []func([]byte) int{shiftJISChar, eucJPChar} {
		// Nearly any byte fits somewhere into these, so that a single one
		// that does not is proof enough.
		if o, w := unprinted(head, cut, charset); w == 0 {
			odd, wrong = min(odd+wrong, o), 0
		}
	}
	return (odd+wrong)*10 <= len(head)*3
}

// unprinted counts the control characters and the bytes that are wrong in a
// character set. charset returns the length of the first character, 0 if it is
// none, and -1 if more bytes are needed to tell.
func unprinted(p []byte, cut bool, charset func([]byte) int) (odd, wrong int) {
	for len(p) > 0 {
		n := 1
		if p[0] < utf8.RuneSelf {
			odd += control(p[0])
		} else if n = charset(p); n < 0 && cut {
			return odd, wrong
		} else if n <= 0 {
			wrong, n = wrong+1, 1
		}
		p = p[n:]
	}
	return odd, wrong
}

// control returns 1 for a control character that texts do not have.
func control(c byte) int {
	if c >= ' ' && c != 0x7f || strings.IndexByte("\a\b\t\n\v\f\r\x1b", c) >= 0 {
		return 0
	}
	return 1
}

func utf8Char(p []byte) int {
	if !utf8.FullRune(p) {
		return -1
	}
	if r, n := utf8.DecodeRune(p); r != utf8.RuneError || n > 1 {
		return n
	}
	return 0
}

// shiftJISChar knows half-width katakana in one byte and the rest in two.
func shiftJISChar(p []byte) int {
	switch c := p[0]; {
	case c >= 0xa1 && c <= 0xdf:
		return 1
	case c >= 0x81 && c <= 0x9f || c >= 0xe0 && c <= 0xfc:
		return second(p, func(d byte) bool { return d >= 0x40 && d <= 0xfc && d != 0x7f })
	}
	return 0
}

// eucJPChar knows JIS X 0208 in two bytes, half-width katakana after SS2 and
// JIS X 0212 in three bytes after SS3.
func eucJPChar(p []byte) int {
	high := func(d byte) bool { return d >= 0xa1 && d <= 0xfe }
	switch c := p[0]; {
	case c == 0x8e:
		return second(p, func(d byte) bool { return d >= 0xa1 && d <= 0xdf })
	case c == 0x8f:
		if n := second(p, high); n <= 0 {
			return n
		}
		if n := second(p[1:], high); n <= 0 {
			return n
		}
		return 3
	case high(c):
		return second(p, high)
	}
	return 0
}

// second returns 2 if the second byte is a good one.
func second(p []byte, good func(byte) bool) int {
	switch {
	case len(p) < 2:
		return -1
	case good(p[1]):
		return 2
	}
	return 0
}
