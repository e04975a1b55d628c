package websearch

import (
	"bytes"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// declareSpace is the part of a page that is searched for its encoding. Browsers search 1024 bytes; some pages declare
// it later.
const declareSpace = 4 << 10

// decode converts a page to UTF-8: by its byte order mark, by the Content-Type, by the declaration in the page, or else
// by detection.
func decode(body []byte, contentType string) string {
	enc := declared(body, contentType)
	switch { // servers often declare latin1 or utf-8 by default
	case enc == nil, enc == charmap.Windows1252 && utf8.Valid(body):
		enc = guess(body)
	case enc == unicode.UTF8 && !utf8.Valid(body):
		if other := guess(body); other != charmap.Windows1252 {
			enc = other
		}
	}
	if enc == unicode.UTF8 {
		return strings.ToValidUTF8(string(bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))), "\uFFFD")
	}
	text, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return strings.ToValidUTF8(string(body), "\uFFFD")
	}
	return strings.ToValidUTF8(string(text), "\uFFFD")
}

// declared returns the declared encoding, or nil.
func declared(body []byte, contentType string) encoding.Encoding {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		return unicode.UTF8
	case bytes.HasPrefix(body, []byte("\xff\xfe")), bytes.HasPrefix(body, []byte("\xfe\xff")):
		return unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	}
	if _, params, err := mime.ParseMediaType(contentType); err == nil {
		if enc := byLabel(params["charset"]); enc != nil {
			return enc
		}
	}
	return byLabel(label(body[:min(len(body), declareSpace)]))
}

func byLabel(label string) encoding.Encoding {
	switch label = strings.ToLower(strings.Trim(label, "\"' \t")); label {
	case "":
		return nil
	case "cp932", "ms932":
		label = "shift_jis"
	}
	enc, err := htmlindex.Get(label)
	if err != nil || enc == encoding.Replacement {
		return nil
	}
	return enc
}

// label finds the name of the encoding in the head of a page.
func label(head []byte) string {
	if rest, ok := bytes.CutPrefix(head, []byte("<?xml")); ok {
		line, _, _ := bytes.Cut(rest, []byte("?>"))
		_, after, _ := bytes.Cut(line, []byte("encoding="))
		name, _, _ := bytes.Cut(bytes.TrimLeft(after, `"'`), after[:min(1, len(after))])
		return string(name)
	}
	z := html.NewTokenizer(bytes.NewReader(head))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return ""
		case html.StartTagToken, html.SelfClosingTagToken:
			if t := z.Token(); t.Data == "meta" {
				if name := metaLabel(t.Attr); name != "" {
					return name
				}
			}
		}
	}
}

// metaLabel reads <meta charset="…"> and its older form, where content is a content type.
func metaLabel(attrs []html.Attribute) string {
	for _, a := range attrs {
		switch a.Key {
		case "charset":
			return a.Val
		case "content":
			if _, params, err := mime.ParseMediaType(a.Val); err == nil && params["charset"] != "" {
				return params["charset"]
			}
		}
	}
	return ""
}

// guess detects the encoding. Japanese encodings are distinguished from others by validity, and from one another by the
// number of kana.
func guess(body []byte) encoding.Encoding {
	if bytes.Contains(body, []byte("\x1b$")) && ascii(body) {
		return japanese.ISO2022JP
	}
	if utf8.Valid(body) {
		return unicode.UTF8
	}
	sample := body[:min(len(body), 64<<10)]
	var best encoding.Encoding
	most := 0
	for _, enc := range []encoding.Encoding{japanese.EUCJP, japanese.ShiftJIS} {
		if n := kana(enc, sample); n > most {
			best, most = enc, n
		}
	}
	switch {
	case best != nil:
		return best
	case mostlyUTF8(sample):
		return unicode.UTF8
	}
	return charmap.Windows1252
}

func ascii(b []byte) bool {
	return !bytes.ContainsFunc(b, func(r rune) bool { return r >= utf8.RuneSelf })
}

// kana counts hiragana and katakana of full width, minus ten for every invalid place.
func kana(enc encoding.Encoding, sample []byte) (n int) {
	text, err := enc.NewDecoder().Bytes(sample)
	if err != nil {
		return 0
	}
	for _, r := range string(text) {
		switch {
		case r >= 'ぁ' && r <= 'ヿ':
			n++
		case r == utf8.RuneError:
			n -= 10
		}
	}
	return n
}

// mostlyUTF8 reports whether more characters beyond ASCII are UTF-8 than not.
func mostlyUTF8(b []byte) bool {
	good, bad := 0, 0
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case r >= utf8.RuneSelf:
			good++
		}
		b = b[n:]
	}
	return good > bad
}
