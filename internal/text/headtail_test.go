package text

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

func write(b *HeadTail, parts ...string) *HeadTail {
	for _, p := range parts {
		if n, err := io.WriteString(b, p); n != len(p) || err != nil {
			panic(fmt.Sprint(n, err))
		}
	}
	return b
}

func TestString(t *testing.T) {
	const lines = "one\ntwo\nthree\nfour\nfive\n"
	for name, c := range map[string]struct {
		b    *HeadTail
		want string
	}{
		"nothing":    {new(HeadTail), ""},
		"all of it":  {write(&HeadTail{Head: 3, Tail: 3}, "ab", "cdef"), "abcdef"},
		"lines":      {write(&HeadTail{Head: 4, Tail: 5}, lines), "one\n… 15 bytes left out …\nfive\n"},
		"no newline": {write(&HeadTail{Head: 3, Tail: 5}, lines), "one\n… 16 bytes left out …\nfive\n"},
		"in small pieces": {write(&HeadTail{Head: 4, Tail: 5}, strings.Split(lines, "")...),
			"one\n… 15 bytes left out …\nfive\n"},
		"only the end":       {write(&HeadTail{Head: -1, Tail: 5}, lines), "… 19 bytes left out …\nfive\n"},
		"only the beginning": {write(&HeadTail{Head: 4, Tail: -1}, lines), "one\n… 20 bytes left out …\n"},
		"nothing of it":      {write(&HeadTail{Head: -1, Tail: -1}, lines), "… 24 bytes left out …\n"},
		"in other words":     {write(&HeadTail{Head: 3, Tail: 3, Mark: "…（%d バイト省略）…"}, "日本国語辞典"), "日\n…（12 バイト省略）…\n典"},
		"a cut character":    {write(&HeadTail{Head: 4, Tail: 4}, "日本国語辞典"), "日\n… 12 bytes left out …\n典"},
		"an uncut character": {write(&HeadTail{Head: 4, Tail: 5}, "日本国"), "日本国"},
		"bytes of any kind": {write(&HeadTail{Head: 4, Tail: 4}, "\xff\xfe\x80\x80\x80\x80\x80\x80\xff\xff"),
			"\xff\xfe\x80\x80\n… 4 bytes left out …\n\xff\xff"},
		"a mark of no number": {write(&HeadTail{Head: 1, Tail: 1, Mark: "[100 % cut]"}, "abc"), "a\n[100 % cut]\nc"},
	} {
		if got := c.b.String(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestBytes(t *testing.T) {
	b := write(&HeadTail{Head: 4, Tail: 4}, "日本", "国語辞典")
	head, tail, cut := b.Bytes()
	if string(head) != "日" || string(tail) != "典" || cut != 12 || b.Total() != 18 {
		t.Errorf("%q %q %d of %d", head, tail, cut, b.Total())
	}
	head[0], tail[0] = 'x', 'x'
	if head, tail, _ := b.Bytes(); string(head)+string(tail) != "日典" {
		t.Error("what is handed out is not the caller's own")
	}
}

func TestUsualSize(t *testing.T) {
	var b HeadTail
	for range 3 << 10 {
		write(&b, strings.Repeat("x", 1023), "\n")
	}
	head, tail, cut := b.Bytes()
	if len(head) != 512<<10 || len(tail) != 512<<10 || cut != 2<<20 {
		t.Errorf("%d + %d, without %d", len(head), len(tail), cut)
	}
}

// A gigabyte takes no more room than what is kept of it.
func TestMemoryIsBounded(t *testing.T) {
	b := HeadTail{Head: 1000, Tail: 1000}
	block := bytes.Repeat([]byte("0123456789"), 1<<10)
	for i := range 100_000 {
		b.Write(block[:i%len(block)])
	}
	if cap(b.head) > 1000 || cap(b.tail.data) > 1024 || cap(b.first) > 1024 {
		t.Errorf("holds %d + %d + %d", cap(b.head), cap(b.tail.data), cap(b.first))
	}
	if got := testing.AllocsPerRun(100, func() { b.Write(block) }); got > 0 {
		t.Errorf("%v allocations for each write", got)
	}
}

func TestConcurrentUse(t *testing.T) {
	b := HeadTail{Head: 100, Tail: 100}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 1000 {
				write(&b, "日本\n")
				_ = b.String()
				b.Binary()
			}
		})
	}
	all.Wait()
	if b.Total() != 8*1000*7 || !utf8.ValidString(b.String()) {
		t.Errorf("%d bytes: %q", b.Total(), b.String())
	}
}

func TestBinary(t *testing.T) {
	const (
		shiftJIS = "\x93\xfa\x96{\x8c\xea\x82\xcc\x95\xb6\x8f\xcd\x81B\xb6\xc0\xb6\xc5, ABC 123\n"
		eucJP    = "\xc6\xfc\xcb\xdc\xb8\xec\xa4\xce\xca\xb8\xbe\xcf\xa1\xa3\x8e\xb6\x8e\xc0\x8f\xb0\xa1, ABC 123\n"
	)
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"empty":              {"", false},
		"ascii":              {"hello\tworld\r\n", false},
		"colours":            {"\x1b[31mred\x1b[0m\n", false},
		"utf-8":              {"日本語の文章。", false},
		"utf-8, cut at 512":  {strings.Repeat("日本語", 600), false},
		"unknown characters": {"\ufffd\ufffd\ufffd\ufffd", false},
		"shift_jis":          {shiftJIS, false},
		"shift_jis, long":    {strings.Repeat("\x93\xfa\x96{\x8c\xea", 200), false},
		"shift_jis, odd":     {"x" + strings.Repeat("\x93\xfa\x96{\x8c\xea", 200), false},
		"euc-jp":             {eucJP, false},
		"latin-1":            {"caf\xe9 cr\xe8me br\xfbl\xe9e and more\n", false},
		"utf-8, a bad byte":  {"日本語\xffの文章。日本語の文章。", false},
		"half a character":   {"\xe3", true},
		"nul":                {"text\x00text", true},
		"elf":                {"\x7fELF\x02\x01\x01\x00", true},
		"controls":           {"\x01\x02\x03\x04\x05abcdefg", true},
		"some controls":      {"\x01\x02\x03abcdefghij", false},
		"gzip without a nul": {"\x1f\x8b\x08\x08\x15\x81\xff\xfe\xfd\x01\x02\x03\x80\x81\xff", true},
		"nul after 512":      {strings.Repeat("x", 512) + "\x00", false},
	} {
		if got := write(&HeadTail{Head: -1}, c.text).Binary(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestNoiseIsBinary(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		var b HeadTail
		for range sniffLen {
			b.Write([]byte{byte(1 + r.IntN(255))})
		}
		if !b.Binary() {
			t.Fatalf("%q", b.first)
		}
	}
}

func FuzzHeadTail(f *testing.F) {
	f.Add("日本国語辞典", 4, 4, 2)
	f.Add("abcdefgh", 3, 2, 1)
	f.Add("a\xffb\xe3\x81", 1, -1, 3)
	f.Add("😀😀😀😀", 5, 7, 5)
	f.Fuzz(func(t *testing.T, in string, head, tail, step int) {
		b := &HeadTail{Head: head % 64, Tail: tail % 64, Mark: "%d"}
		step = max(step%32, 1)
		for rest := in; rest != ""; rest = rest[min(step, len(rest)):] {
			write(b, rest[:min(step, len(rest))])
		}
		first, last, cut := b.Bytes()
		if int64(len(first)+len(last))+cut != int64(len(in)) || b.Total() != int64(len(in)) {
			t.Fatalf("%d + %d + %d are not %d", len(first), cut, len(last), len(in))
		}
		if !strings.HasPrefix(in, string(first)) || !strings.HasSuffix(in, string(last)) {
			t.Fatalf("%q … %q are not the ends of %q", first, last, in)
		}
		if len(in) <= size(b.Head)+size(b.Tail) && string(first) != in {
			t.Fatalf("%q became %q", in, first)
		}
		if cut > 0 && (len(first) < size(b.Head)-3 || len(last) < size(b.Tail)-3) {
			t.Fatalf("kept %d of %d and %d of %d", len(first), b.Head, len(last), b.Tail)
		}
		if utf8.ValidString(in) && !utf8.ValidString(b.String()) {
			t.Fatalf("%q became %q", in, b.String())
		}
		b.Binary()
	})
}
