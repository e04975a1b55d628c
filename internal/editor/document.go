package editor

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"strings"
	"unicode/utf8"

	"hako/internal/text"
)

// A document is a text file in memory. Lines count from 1; offsets are in text unless stated otherwise.
type document struct {
	raw   []byte // the file
	sum   digest // of raw; only set if the file was read
	set   *charset
	bom   int    // length of the byte order mark in raw
	text  []byte // as callers see it: UTF-8, without the mark
	crlf  bool   // all lines end in CRLF, which callers need not know
	mixed bool   // some lines end in CRLF
}

// A digest identifies the content of a file.
type digest = [sha256.Size]byte

const byteOrderMark = "\ufeff"

// parse parses a file. A nil set means that the encoding is detected.
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
		d.set, d.text = detect(raw[d.bom:])
	}
	ends := bytes.Count(d.text, []byte("\n"))
	long := bytes.Count(d.text, []byte("\r\n"))
	d.crlf, d.mixed = long > 0 && long == ends, long > 0 && long < ends
	return d
}

// sniffLength is how many bytes are inspected to detect binary files.
const sniffLength = 512

// binary reports whether a file begins with a NUL, or with more than 30 % unprintable characters.
func (d *document) binary() bool {
	if bytes.IndexByte(d.raw[:min(len(d.raw), sniffLength)], 0) >= 0 {
		return true
	}
	head := d.text[:min(len(d.text), sniffLength)]
	if len(head) == sniffLength {
		head = head[:sniffLength-text.Incomplete(head)]
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

// lines returns the number of lines; the last one needs no line end.
func (d *document) lines() int {
	n := bytes.Count(d.text, []byte("\n"))
	if d.noFinalNewline() {
		n++
	}
	return n
}

// noFinalNewline reports whether the last line has no line end.
func (d *document) noFinalNewline() bool { return len(d.text) > 0 && d.text[len(d.text)-1] != '\n' }

// start returns the offset of a line.
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

// line returns the line of an offset.
func (d *document) line(offset int) int { return 1 + bytes.Count(d.text[:offset], []byte("\n")) }

// withLineEnds converts the line ends of a text to those of the file.
func (d *document) withLineEnds(text string) string {
	if !d.crlf {
		return text
	}
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
}

// A splice replaces some bytes of a file.
type splice struct {
	at    int
	cut   int // length of the replaced part
	bytes []byte
}

// splice returns the replacement of a part of the text. Nothing else is encoded anew, because not every file survives
// a round trip.
func (d *document) splice(from, to int, text string) (splice, error) {
	added, err := d.set.encode(text)
	if err != nil {
		return splice{}, err
	}
	start := d.offset(0, 0, from)
	end := d.offset(start, from, to)
	return splice{start, end - start, added}, nil
}

// offset converts an offset in text to one in raw, given an earlier pair of both.
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
