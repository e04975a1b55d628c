package vfs

import (
	"math/rand/v2"
	"strings"
	"testing"
)

const (
	shiftJIS = "\x93\xfa\x96{\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x81B\xb6\xc0\xb6\xc5, ABC 123\n"
	eucJP    = "\xc6\xfc\xcb\xdc\xb8\xec\xa4\xce\xca\xb8\xbe\xcf\xa1\xa3\x8e\xb6\x8e\xc0\x8f\xb0\xa1, ABC 123\n"
)

func TestIsText(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"empty":              {"", true},
		"ascii":              {"hello\tworld\r\n", true},
		"colours":            {"\x1b[31mred\x1b[0m\n", true},
		"utf-8":              {"日本語の文章。", true},
		"utf-8 with BOM":     {"\ufeffx", true},
		"shift_jis":          {shiftJIS, true},
		"euc-jp":             {eucJP, true},
		"latin-1":            {"caf\xe9 cr\xe8me br\xfbl\xe9e and more\n", true},
		"utf-8, a bad byte":  {"日本語\xffの文章。日本語の文章。", true},
		"nul":                {"text\x00text", false},
		"elf":                {"\x7fELF\x02\x01\x01\x00", false},
		"png":                {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", false},
		"controls":           {"\x01\x02\x03\x04\x05abcdefg", false},
		"some controls":      {"\x01\x02\x03abcdefghij", true},
		"gzip without a nul": {"\x1f\x8b\x08\x08\x15\x81\xff\xfe\xfd\x01\x02\x03\x80\x81\xff", false},
	} {
		if got := isText([]byte(c.text), false); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// A character that is cut by the end of the sniffed bytes is not held against
// the text, wherever it is cut.
func TestCutCharacter(t *testing.T) {
	for _, text := range []string{"あ", "😀", shiftJIS, eucJP} {
		long := strings.Repeat(text, 600)
		for n := 1; n < 40; n++ {
			if !isText([]byte(long[:n]), true) {
				t.Errorf("%q cut at %d", text, n)
			}
		}
	}
	if isText([]byte("\xe3"), false) {
		t.Error("half a character is no text if nothing follows")
	}
}

func TestNoiseIsNotText(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		p := make([]byte, sniffed)
		for i := range p {
			p[i] = byte(1 + r.IntN(255))
		}
		if isText(p, true) {
			t.Fatalf("%q", p)
		}
	}
}
