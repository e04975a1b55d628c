package editor

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"unicode/utf8"
)

// A document is a text file in memory. Lines count from 1; an offset is one in
// text unless it says otherwise.
type document struct {
	raw   []byte // the file
	sum   digest // of raw; only set where the file was read
	set   *charset
	bom   int    // how many bytes of raw are the byte order mark
	text  []byte // the file as callers see it: UTF-8, without the mark
	crlf  bool   // all lines end in CRLF, and callers need not know
	mixed bool   // some lines end in CRLF and some do not
}

// A digest tells two contents of a file apart.
type digest = [sha256.Size]byte

const byteOrderMark = "\ufeff"

// parse reads a file. If the charset is known already it is kept; nil means
// that it has to be guessed.
func parse(raw []byte, set *charset) *document {
	d := &document{raw: raw}
	if bytes.HasPrefix(raw, []byte(byteOrderMark)) {
		d.bom = len(byteOrderMark)
	}
	var ok bool
	if set != nil {
		d.set = set
		d.text, ok = set.decode(raw[d.bom:])
	}
	if !ok {
		d.set, d.text = guess(raw[d.bom:])
	}
	ends := bytes.Count(d.text, []byte("\n"))
	long := bytes.Count(d.text, []byte("\r\n"))
	d.crlf, d.mixed = long > 0 && long == ends, long > 0 && long < ends
	return d
}

// sniffed is how much of a file is looked at to tell whether it is text.
const sniffed = 512

// binary reports whether a file does not begin like text: with a NUL, or with
// more than 30 % that does not print.
func (d *document) binary() bool {
	if bytes.IndexByte(d.raw[:min(len(d.raw), sniffed)], 0) >= 0 {
		return true
	}
	head := d.text[:min(len(d.text), sniffed)]
	if len(head) == sniffed {
		head = head[:sniffed-unfinished(head)]
	}
	bad := 0
	for rest := head; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		control := (r < ' ' || r == 0x7f) && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r)
		if control || r == utf8.RuneError && n == 1 {
			bad++
		}
		rest = rest[n:]
	}
	return bad*10 > len(head)*3
}

// unfinished returns how many bytes at the end are the beginning of a character.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if last := p[len(p)-n:]; utf8.RuneStart(last[0]) {
			if utf8.FullRune(last) {
				return 0
			}
			return n
		}
	}
	return 0
}

// lines returns how many lines there are; the last needs no line end.
func (d *document) lines() int {
	n := bytes.Count(d.text, []byte("\n"))
	if d.open() {
		n++
	}
	return n
}

// open reports whether the last line has no line end.
func (d *document) open() bool { return len(d.text) > 0 && d.text[len(d.text)-1] != '\n' }

// start returns the offset of a line, and the end for the line after the last.
func (d *document) start(line int) int {
	at := 0
	for ; line > 1; line-- {
		n := bytes.IndexByte(d.text[at:], '\n')
		if n < 0 {
			return len(d.text)
		}
		at += n + 1
	}
	return at
}

// line returns the line that an offset lies in.
func (d *document) line(offset int) int { return 1 + bytes.Count(d.text[:offset], []byte("\n")) }

// own gives a text of the caller the line ends of the file.
func (d *document) own(text string) string {
	if !d.crlf {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// A splice puts some bytes of a file in the place of others.
type splice struct {
	at    int
	cut   int // how many bytes go
	bytes []byte
}

// splice prepares the exchange of a part of the text. Nothing else is written
// anew: not every file comes back the same from being decoded and encoded.
func (d *document) splice(from, to int, text string) (splice, error) {
	added, err := d.set.encode(text)
	if err != nil {
		return splice{}, err
	}
	start := d.offset(0, 0, from)
	end := d.offset(start, from, to)
	return splice{start, end - start, added}, nil
}

// offset returns where in raw a place of the text is, given an earlier pair.
func (d *document) offset(raw, text, wanted int) int {
	if text == 0 {
		raw = d.bom
	}
	if d.set.codec == nil {
		return raw + wanted - text
	}
	return raw + d.set.skip(d.raw[raw:], utf8.RuneCount(d.text[text:wanted]))
}

func (s splice) apply(raw []byte) []byte {
	return slices.Concat(raw[:s.at], s.bytes, raw[s.at+s.cut:])
}

// back returns the splice that undoes s.
func (s splice) back(raw []byte) splice {
	return splice{s.at, len(s.bytes), bytes.Clone(raw[s.at : s.at+s.cut])}
}
