package tool

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/japanese"
)

// charsetNote is the note on a page that is Japanese in another charset than UTF-8; it is empty for any other page. The
// page itself is not converted: start and size count its bytes.
func charsetNote(page []byte) string {
	name := charset(page)
	if name == "" {
		return ""
	}
	return fmt.Sprintf("[the output is not UTF-8 but seems to be %s; to read or search it, begin with: iconv -f %s -t UTF-8 FILE | …]\n", name, name)
}

// charset names the charset of a page that is not UTF-8; empty means unknown. EUC-JP comes first: nearly all of it
// could be half-width katakana in Shift_JIS, but hardly the other way round.
func charset(page []byte) string {
	if utf8.Valid(page) {
		return ""
	}
	for _, known := range []struct {
		name string
		encoding.Encoding
	}{{"EUC-JP", japanese.EUCJP}, {"SHIFT_JIS", japanese.ShiftJIS}} {
		if fits(known, page) {
			return known.name
		}
	}
	return ""
}

// fits reports whether a page is valid in a charset. Its first and its last character may be incomplete.
func fits(e encoding.Encoding, page []byte) bool {
	const longest = 3
	for skip := 0; skip < longest && skip < len(page); skip++ {
		decoded, err := e.NewDecoder().Bytes(page[skip:])
		whole := bytes.TrimSuffix(decoded, []byte("\uFFFD"))
		if err == nil && len(whole) > 0 && !bytes.ContainsRune(whole, utf8.RuneError) {
			return true
		}
	}
	return false
}
