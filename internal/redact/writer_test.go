package redact

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

const (
	someToken = "ghp_0123456789abcdef0123456789abcdef"
	somePEM   = "-----BEGIN RSA PRIVATE KEY-----\nMIIEabc\n\nabc=\n-----END RSA PRIVATE KEY-----"
)

// written passes text through a Writer, in pieces of the given sizes, one after
// the other and over again. No sizes means all at once.
func written(t testing.TB, s *Set, text string, sizes ...int) string {
	t.Helper()
	return fed(t, NewWriter, s, text, sizes...)
}

func fed(t testing.TB, create func(io.Writer, *Set) *Writer, s *Set, text string, sizes ...int) string {
	t.Helper()
	var b strings.Builder
	w := create(&b, s)
	for i := 0; text != ""; i++ {
		n := len(text)
		if len(sizes) > 0 {
			n = min(n, max(1, sizes[i%len(sizes)]))
		}
		if got, err := w.Write([]byte(text[:n])); got != n || err != nil {
			t.Fatalf("wrote %d of %d: %v", got, n, err)
		}
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriter(t *testing.T) {
	fill := strings.Repeat("an ordinary line - 2024-01-02, key=value\n", 4000)
	tests := []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"plain", "a\nb", "a\nb"},
		{"an empty line first", "\nb", "\nb"},
		{"token", "a " + someToken + "\nb\n", "a [redacted]\nb\n"},
		{"token at the end", "a " + someToken, "a [redacted]"},
		{"in a later block", fill + someToken + "\n" + fill, fill + "[redacted]\n" + fill},
		{"a quote that stays open", "password=\"x y\nnext \"line\"\n", "password=\"[redacted]\nnext \"line\"\n"},
		{"a quote at the end of its line", "password=\"\nnext", "password=\"\nnext"},
		{"source code", "if strings.HasPrefix(s, \"password=\") {\n\treturn \"a\"\n",
			"if strings.HasPrefix(s, \"password=\") {\n\treturn \"a\"\n"},
		{"private key", "a\nk=" + somePEM + " b\nc\n", "a\nk=[redacted] b\nc\n"},
		{"two keys", somePEM + "\n" + somePEM + "\n", "[redacted]\n[redacted]\n"},
		{"key with a name", "PRIVATE_KEY=" + somePEM + "\nc\n", "PRIVATE_KEY=[redacted]\nc\n"},
		{"key in quotes", "private_key: \"" + somePEM + "\"\nc\n", "private_key: \"[redacted]\"\nc\n"},
		{"key without end", "a\n-----BEGIN PRIVATE KEY-----\nMIIE\nabc\n", "a\n[redacted]"},
		{"only the mention of a key", "-----BEGIN PRIVATE KEY-----\n" + fill, "[redacted]\n" + fill[16400:]},
		{"certificate", "-----BEGIN CERTIFICATE-----\nMIIE\n", "-----BEGIN CERTIFICATE-----\nMIIE\n"},
		{"key in one line", `{"k":"-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"}` + "\nb",
			`{"k":"[redacted]\n"}` + "\nb"},
	}
	for _, tt := range tests {
		for _, sizes := range [][]int{nil, {1}, {7, 4096}} {
			if got := written(t, nil, tt.in, sizes...); got != tt.want {
				t.Errorf("%s %v: got %s\nwant %s", tt.name, sizes, short(got), short(tt.want))
			}
		}
	}
}

func short(s string) string {
	if len(s) < 300 {
		return s
	}
	return s[:150] + " … " + s[len(s)-150:]
}

// TestWriterBorders moves secrets over every place at which a long stream is cut.
func TestWriterBorders(t *testing.T) {
	var set Set
	set.Add("correct horse", "two\nlines", "correct horse battery")
	secrets := []string{
		someToken, "--password hunter22", "password=hunter22", `"token": "hunter22"`, "sk-" + strings.Repeat("a1", 400),
		"https://u:hunter22@h/x",
		"Authorization: Bearer hunter22abcdef", "correct horse battery", "two\nlines", somePEM,
		`{"private_key":"` + strings.ReplaceAll(somePEM, "\n", `\n`) + `"}`,
	}
	for _, filler := range []string{"語", "some words\n", `k='v' `} {
		for _, secret := range secrets {
			for _, border := range []int{blockSize - lookAhead, blockSize, 2*(blockSize-lookAhead) - keptBehind} {
				for off := -len(secret) - 2; off < 3; off += 1 + len(secret)/5 {
					before := strings.Repeat(filler, 3*blockSize/len(filler))[:border+off]
					text := before + " " + secret + " " + strings.Repeat("y z", 10000)
					if got := written(t, &set, text, 30_000); got != set.Text(text) || strings.Contains(got, "hunter22") {
						t.Fatalf("%q at %d%+d after %q: %s", short(secret), border, off, filler, around(got, border))
					}
				}
			}
		}
	}
}

func around(s string, at int) string { return s[min(len(s), max(0, at-900)):min(len(s), at+900)] }

// TestWriterEndlessSecret has a secret that is longer than anything that is kept.
func TestWriterEndlessSecret(t *testing.T) {
	long := strings.Repeat("a1b2", 100_000)
	for _, in := range []string{"token=" + long + " end\nnext\n", `{"token":"` + long + `" end` + "\nnext\n",
		"sk-" + long + " end\nnext\n"} {
		got := written(t, nil, in, 1000)
		if strings.Contains(got, "a1b2") || !strings.HasSuffix(got, " end\nnext\n") || len(got) > 60 {
			t.Errorf("%s", short(got))
		}
	}
}

func TestWriterOverlappingValues(t *testing.T) {
	var set Set
	set.Add("abcdef", "abcdefgh", "efghijkl")
	for in, want := range map[string]string{
		"abcdefghijkl": "[redacted]ijkl", "xabcdef": "x[redacted]", "abcdefghabcdef": "[redacted][redacted]",
		"abcdeefghijkl": "abcde[redacted]",
	} {
		if got := set.Text(in); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
		if got := written(t, &set, in, 1); got != want {
			t.Errorf("%s was written as %s, want %s", in, got, want)
		}
	}
}

type broken struct{ after int }

func (b *broken) Write(p []byte) (int, error) {
	if b.after -= len(p); b.after < 0 {
		return 0, io.ErrShortWrite
	}
	return len(p), nil
}

func TestWriterPassesErrorsOn(t *testing.T) {
	w := NewWriter(&broken{100}, nil)
	if _, err := io.Copy(w, strings.NewReader(strings.Repeat("line\n", 50_000))); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("write: %v", err)
	}
	w = NewWriter(&broken{3}, nil)
	io.WriteString(w, "line\n")
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("close: %v", err)
	}
}

// FuzzWriter makes sure that writes can be cut anywhere, and that what lies
// within lines is removed as from a text.
func FuzzWriter(f *testing.F) {
	for _, s := range []string{"password=x\n--token y", "a\n" + somePEM, "PRIVATE_KEY=" + somePEM, "eyJhbGciOiJI.ey\nx",
		"x='\n'", "password=\\\nx", "curl -u a:b\n", "Cookie: a=b; c=d\n", "Cookie: a=$A; ", "curl -b a=b;c=", "mysql -pa\n",
		"htpasswd -nb a b ", "://discord.com/webhooks/1/abcdefgh ", "-----BEGIN PRIVATE KEY\n-----END ", "secret1\nsecret2"} {
		f.Add(s, uint16(3), uint8(0))
		f.Add(s, uint16(1), uint8(200))
	}
	f.Add("pAss=\"\n", uint16(1), uint8(0))
	f.Add("\n", uint16(0), uint8(200))
	var set Set
	set.Add("hunter22", "two\nlines", "hunter")
	f.Fuzz(func(t *testing.T, s string, size uint16, times uint8) {
		s = strings.Repeat(s, 1+int(times))
		if len(s) > 4*blockSize {
			return
		}
		got := written(t, &set, s)
		if again := written(t, &set, s, int(size)); again != got {
			t.Fatalf("%q by %d: %q, not %q", short(s), size, short(again), short(got))
		}
		if live := fed(t, NewLiveWriter, &set, s, int(size)); live != got {
			t.Fatalf("%q by %d, live: %q, not %q", short(s), size, short(live), short(got))
		}
		replaced, _ := set.known().replace(s)
		var lines strings.Builder
		for line := range strings.Lines(replaced) {
			if len(line) > blockSize-lookAhead {
				return
			}
			body, end := strings.CutSuffix(line, "\n") // a quote that stays open ends before it
			lines.WriteString(Text(body))
			if end {
				lines.WriteByte('\n')
			}
		}
		if want := set.Text(s); want == lines.String() && want != got && !strings.Contains(s, keyBegin) {
			t.Fatalf("%q: %q, not %q", short(s), short(got), short(want))
		}
	})
}

// TestLiveWriter: a line is there as soon as it is complete, and what may become
// a secret is not.
func TestLiveWriter(t *testing.T) {
	var set Set
	set.Add("hunter22", "two\nlines", "hunter")
	var out strings.Builder
	w := NewLiveWriter(&out, &set)
	for _, step := range []struct{ write, want string }{
		{"one\n", "one\n"},
		{"tw", "one\n"},
		{"elve\n", "one\ntwelve\n"},
		{"a two\n", "one\ntwelve\n"},
		{"lines b\n", "one\ntwelve\na " + Mark + " b\n"},
		{"x hunter", "one\ntwelve\na " + Mark + " b\n"},
		{"2", "one\ntwelve\na " + Mark + " b\n"},
		{"2 y\npassword=", "one\ntwelve\na " + Mark + " b\nx " + Mark + " y\n"},
		{"abcdefgh\n", "one\ntwelve\na " + Mark + " b\nx " + Mark + " y\npassword=" + Mark + "\n"},
	} {
		if w.Write([]byte(step.write)); out.String() != step.want {
			t.Errorf("after %q: %q, not %q", step.write, out.String(), step.want)
		}
	}
}

func BenchmarkWriter(b *testing.B) {
	logs := strings.Repeat("2024-01-02T03:04:05Z host app[12]: level=info msg=\"GET /index.html\" status=200 time=12.5ms\n", 10_000)
	prose := strings.Repeat("The quick brown fox jumps over the lazy dog, and nobody minds. It was a dark night\n", 10_000)
	for name, text := range map[string]string{"prose": prose, "log": logs,
		"secrets": strings.Repeat("password=hunter22 "+someToken+"\n", 10_000)} {
		b.Run(name, func(b *testing.B) {
			data := []byte(text)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				w := NewWriter(discard{}, nil)
				for piece := range slices.Chunk(data, 32<<10) {
					w.Write(piece)
				}
				w.Close()
			}
		})
	}
}

// discard takes strings as the window of a page does.
type discard struct{}

func (discard) Write(p []byte) (int, error)       { return len(p), nil }
func (discard) WriteString(s string) (int, error) { return len(s), nil }
