package text

import (
	"testing"
	"unicode/utf8"
)

// FuzzPage cuts texts into pages: together they are the text.
func FuzzPage(f *testing.F) {
	f.Add([]byte("日本語\xff\xe6\x97"), int64(2))
	f.Fuzz(func(t *testing.T, text []byte, size int64) {
		size = max(size%64, 1)
		var all []byte
		for start := int64(0); start < int64(len(text)); {
			part, next := Page(text, start, size)
			if next <= start || int64(len(part)) > max(size, utf8.UTFMax) {
				t.Fatalf("%q at %d: %q, next is %d", text, start, part, next)
			}
			all = append(all, part...)
			start = next
		}
		if string(all) != string(text) {
			t.Fatalf("%q: %q", text, all)
		}
	})
}
