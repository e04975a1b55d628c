package tool

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// readPages reads a whole stream page by page, and cuts the writes into pieces.
func readPages(t *testing.T, data []byte, size int64, piece int) (pages [][]byte) {
	t.Helper()
	for start := int64(0); ; {
		w := newWindow(start, size)
		for rest := data; len(rest) > 0; {
			n := min(piece, len(rest))
			w.Write(rest[:n])
			rest = rest[n:]
		}
		if w.total != int64(len(data)) {
			t.Fatalf("total is %d of %d", w.total, len(data))
		}
		if int64(len(w.kept)) > size+3*reach {
			t.Fatalf("%d bytes kept for a page of %d", len(w.kept), size)
		}
		page, next, last := w.page()
		pages = append(pages, page)
		if last {
			return pages
		}
		if next <= start {
			t.Fatalf("no progress at %d", start)
		}
		start = next
	}
}

func TestPages(t *testing.T) {
	tests := []struct {
		data string
		size int64
		want []string
	}{
		{"", 4, []string{""}},
		{"abc", 4, []string{"abc"}},
		{"abcd", 4, []string{"abcd"}},
		{"abcde", 4, []string{"abcd", "e"}},
		{"日本語", 4, []string{"日", "本", "語"}},
		{"日本語", 6, []string{"日本", "語"}},
		{"日本語", 1, []string{"日", "本", "語"}},
		{"a😀b", 3, []string{"a", "😀", "b"}},
		{"é\xff\xfeé", 2, []string{"é", "\xff\xfe", "é"}},
		{"\xe6\x97", 1, []string{"\xe6", "\x97"}},
		{"\xf0\x9f\x98a", 2, []string{"\xf0\x9f", "\x98a"}},
	}
	for _, tt := range tests {
		got := readPages(t, []byte(tt.data), tt.size, 2)
		if s := string(bytes.Join(got, []byte("|"))); s != strings.Join(tt.want, "|") {
			t.Errorf("%q by %d: %q, want %q", tt.data, tt.size, s, tt.want)
		}
	}
}

func TestPageStartInsideCharacter(t *testing.T) {
	for start, want := range []string{"a日本", "日本", "本", "本", "本", "", ""} {
		w := newWindow(int64(start), 100)
		w.Write([]byte("a日本"))
		if page, _, last := w.page(); string(page) != want || !last {
			t.Errorf("from %d: %q %v, want %q", start, page, last, want)
		}
	}
}

func TestPageBeyondTheEnd(t *testing.T) {
	for _, start := range []int64{3, 4, 1 << 40, 1<<63 - 1} {
		w := newWindow(start, MaxPage)
		w.Write([]byte("abc"))
		page, _, last := w.page()
		if len(page) != 0 || !last || w.total != 3 {
			t.Errorf("from %d: %q, last %v, total %d", start, page, last, w.total)
		}
	}
}

func TestTextShowsEachStrayByte(t *testing.T) {
	if got := validText([]byte("a\xff\xfeé")); got != "a\ufffd\ufffdé" {
		t.Errorf("%q", got)
	}
}

func FuzzPage(f *testing.F) {
	f.Add([]byte("日本語 and more\nüñ😀\n"), uint16(5), uint8(3))
	f.Add([]byte("\xff\xe6\x97a\xf0\x9f\x98"), uint16(1), uint8(1))
	f.Add(bytes.Repeat([]byte("漢字\n"), 100), uint16(64), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, size uint16, piece uint8) {
		if len(data) > 1000 {
			return
		}
		n := int64(size)%MaxPage + 1
		pages := readPages(t, data, n, int(piece)+1)
		if got := bytes.Join(pages, nil); !bytes.Equal(got, data) {
			t.Fatalf("pages make %q of %q", got, data)
		}
		var all strings.Builder
		for _, p := range pages {
			if int64(len(p)) > max(n, utf8.UTFMax) {
				t.Fatalf("a page of %d bytes for %d", len(p), n)
			}
			all.WriteString(validText(p))
		}
		if all.String() != validText(data) {
			t.Fatalf("texts of pages make %q of %q", all.String(), data)
		}
	})
}
