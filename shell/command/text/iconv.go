package text

import (
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Iconv = shell.Command{Name: "iconv", Run: runIconv}

// encodings are the encodings by name, in capitals, without '-' and '_'.
var encodings = map[string]encoding.Encoding{
	"UTF8":  unicode.UTF8,
	"UTF16": unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), "UTF16LE": utf16LE,
	"UTF16BE":  unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM),
	"SHIFTJIS": japanese.ShiftJIS, "SJIS": japanese.ShiftJIS, "CP932": japanese.ShiftJIS, "MS932": japanese.ShiftJIS,
	"WINDOWS31J": japanese.ShiftJIS, "EUCJP": japanese.EUCJP, "UJIS": japanese.EUCJP, "ISO2022JP": japanese.ISO2022JP,
	"ISO88591": charmap.ISO8859_1, "LATIN1": charmap.ISO8859_1, "L1": charmap.ISO8859_1,
	"CP1252": charmap.Windows1252, "WINDOWS1252": charmap.Windows1252, "ASCII": asciiOnly{}, "USASCII": asciiOnly{},
}

var utf16LE = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)

// findEncoding sets the encoding of -f or -t.
func findEncoding(to *encoding.Encoding, direction, name string) error {
	*to = encodings[strings.NewReplacer("-", "", "_", "").Replace(strings.ToUpper(name))]
	if *to == nil {
		return fmt.Errorf("conversion %s `%s' is not supported\n"+
			"Try `iconv --help' or `iconv --usage' for more information.", direction, name)
	}
	return nil
}

// An iconvRun is one conversion.
type iconvRun struct {
	*shell.Call
	from, to       encoding.Encoding
	drop, question bool
	mark           bool // the output begins with a byte order mark
	w              *stream.Writer
	encoder        *encoding.Encoder
}

func runIconv(ctx context.Context, c *shell.Call) error {
	r := &iconvRun{Call: c, from: unicode.UTF8, to: unicode.UTF8, w: c.Stdout}
	output, list := "", false
	names, err := cli.Parse(c, cli.Flags{
		"c": &r.drop, "o": &output, "l": &list,
		"f": func(text string) error {
			name, _, _ := strings.Cut(text, "//")
			return findEncoding(&r.from, "from", name)
		},
		"t": func(text string) error {
			name, suffix, _ := strings.Cut(text, "//")
			suffix = strings.ToUpper(suffix)
			r.mark = strings.HasSuffix(name, "16")
			r.question = strings.Contains(suffix, "TRANSLIT")
			r.drop = r.drop || strings.Contains(suffix, "IGNORE")
			return findEncoding(&r.to, "to", name)
		},
	})
	if err != nil {
		return err
	}
	if list {
		_, err := c.Stdout.WriteString("ASCII//\nCP1252//\nEUC-JP//\nISO-2022-JP//\nISO-8859-1//\n" +
			"SHIFT_JIS//\nUTF-16//\nUTF-16BE//\nUTF-16LE//\nUTF-8//\n")
		return err
	}
	if output != "" {
		f, err := c.Create(output)
		if err != nil {
			return c.Fail(1, "unable to open output file: %s", vfs.Reason(err))
		}
		defer f.Close()
		r.w = stream.NewWriter(f)
		defer r.w.Flush()
	}
	return r.run(names)
}

func (r *iconvRun) run(names []string) error {
	if r.mark { // only once, although the encoder is used piece by piece
		r.to = utf16LE
		r.w.Write([]byte{0xff, 0xfe})
	}
	r.encoder = r.to.NewEncoder()
	for _, name := range names {
		if _, err := r.FS.Stat(r.Path(name)); err != nil && !shell.IsStdin(name) {
			return r.Fail(1, "cannot open input file `%s': %s", name, vfs.Reason(err))
		}
	}
	return cli.Each(r.Call, r.InputsBytes(names), func(in shell.Input) error {
		return cli.Try(func() { r.convert(in) })
	})
}

// convert decodes to UTF-8 and encodes piece by piece. Decoders return the replacement
// character for invalid bytes.
func (r *iconvRun) convert(in io.Reader) {
	taken := int64(0)
	src := io.Reader(&cli.CountingReader{R: in, N: &taken})
	if r.from != unicode.UTF8 {
		src = transform.NewReader(src, r.from.NewDecoder())
	}
	buf := make([]byte, 0, 64<<10)
	for done := false; !done; {
		n, err := src.Read(buf[len(buf) : len(buf)+(cap(buf)-len(buf))/2])
		cli.Check(cli.NotEOF(err))
		buf = buf[:len(buf)+n]
		whole := len(buf)
		if done = err == io.EOF; !done {
			whole = completeRunes(buf)
		}
		r.encode(buf[:whole], taken-int64(len(buf)))
		buf = append(buf[:0], buf[whole:]...)
	}
}

// completeRunes returns the length of b without an incomplete character at its end.
func completeRunes(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if utf8.RuneStart(b[len(b)-n]) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return len(b) - n
			}
			break
		}
	}
	return len(b)
}

// encode writes text; at is its position in the input, for messages.
func (r *iconvRun) encode(text []byte, at int64) {
	for len(text) > 0 {
		n, bad := 0, 0 // bytes of valid characters, and of the invalid one after them
		for n < len(text) && bad == 0 {
			ch, size := utf8.DecodeRune(text[n:])
			if ch == utf8.RuneError {
				bad = size
			} else {
				n += size
			}
		}
		r.write(text[:n], at)
		text, at = text[n:], at+int64(n)
		if bad > 0 && !r.drop {
			r.stuck(at)
		}
		text, at = text[bad:], at+int64(bad)
	}
}

// stuck aborts at a character that cannot be converted.
func (r *iconvRun) stuck(at int64) {
	r.w.Flush()
	where := ""
	if r.from == unicode.UTF8 {
		where = fmt.Sprintf(" at position %d", at)
	}
	cli.Check(r.Fail(1, "illegal input sequence%s", where))
}

// write encodes text, character by character if that fails for all of it.
func (r *iconvRun) write(text []byte, at int64) {
	if r.to == unicode.UTF8 {
		r.w.Write(text)
	} else if out, err := r.encoder.Bytes(text); err == nil {
		r.w.Write(out)
	} else {
		for i, ch := range string(text) {
			out, err := r.encoder.Bytes([]byte(string(ch)))
			switch {
			case err == nil:
			case r.question:
				out = r.alike(ch)
			case r.drop:
				out = nil
			default:
				r.stuck(at + int64(i))
			}
			r.w.Write(out)
		}
	}
	cli.Check(r.w.Err())
}

// asciiOnly is the encoding ASCII.
type asciiOnly struct{ encoding.Encoding }

func (asciiOnly) NewDecoder() *encoding.Decoder {
	return &encoding.Decoder{Transformer: asciiStep{fix: true}}
}

func (asciiOnly) NewEncoder() *encoding.Encoder { return &encoding.Encoder{Transformer: asciiStep{}} }

// asciiStep copies ASCII. Other bytes are an error, or with fix become the replacement
// character.
type asciiStep struct {
	transform.NopResetter
	fix bool
}

func (s asciiStep) Transform(dst, src []byte, atEOF bool) (nDst, nSrc int, err error) {
	for nSrc < len(src) {
		if nDst+utf8.UTFMax > len(dst) {
			return nDst, nSrc, transform.ErrShortDst
		}
		switch ch := src[nSrc]; {
		case ch < utf8.RuneSelf:
			dst[nDst] = ch
			nDst++
		case s.fix:
			nDst += utf8.EncodeRune(dst[nDst:], utf8.RuneError)
		default:
			return nDst, nSrc, fmt.Errorf("iconv: byte %#x is not ASCII", ch)
		}
		nSrc++
	}
	return nDst, nSrc, nil
}

// plainSigns replaces typographic characters by ASCII.
var plainSigns = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "‐", "-", "×", "x",
	"ß", "ss",
	"æ", "ae", "Æ", "AE", "œ", "oe", "Œ", "OE", "ø", "o", "Ø", "O", "«", "<<", "»", ">>", "€", "EUR", "⁄", "/", "©", "(C)",
	"®", "(R)")

// alike approximates a character that the encoding lacks: é by e, … by three dots.
func (r *iconvRun) alike(ch rune) []byte {
	var out []byte
	for _, part := range plainSigns.Replace(norm.NFKD.String(string(ch))) {
		if b, err := r.encoder.Bytes([]byte(string(part))); err == nil {
			out = append(out, b...)
		}
	}
	if len(out) == 0 {
		return []byte{'?'}
	}
	return out
}
