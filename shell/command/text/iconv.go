package text

import (
	"context"
	"fmt"
	"io"
	"os"
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

// iconvNames are the spellings of each encoding, without '-' and '_'.
var iconvNames = map[string]string{
	"UTF8": "UTF-8", "UTF16": "UTF-16", "UTF16LE": "UTF-16LE", "UTF16BE": "UTF-16BE", "SHIFTJIS": "SHIFT_JIS",
	"SJIS":  "SHIFT_JIS",
	"CP932": "SHIFT_JIS", "MS932": "SHIFT_JIS", "WINDOWS31J": "SHIFT_JIS", "EUCJP": "EUC-JP", "UJIS": "EUC-JP",
	"ISO2022JP": "ISO-2022-JP",
	"ISO88591":  "ISO-8859-1", "LATIN1": "ISO-8859-1", "L1": "ISO-8859-1", "CP1252": "CP1252", "WINDOWS1252": "CP1252",
	"ASCII": "ASCII", "USASCII": "ASCII",
}

func iconvEncoding(name string) (encoding.Encoding, bool) {
	switch iconvNames[strings.NewReplacer("-", "", "_", "").Replace(strings.ToUpper(name))] {
	case "UTF-8":
		return unicode.UTF8, true
	case "UTF-16":
		return unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), true
	case "UTF-16LE":
		return unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), true
	case "UTF-16BE":
		return unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), true
	case "SHIFT_JIS":
		return japanese.ShiftJIS, true
	case "EUC-JP":
		return japanese.EUCJP, true
	case "ISO-2022-JP":
		return japanese.ISO2022JP, true
	case "ISO-8859-1":
		return charmap.ISO8859_1, true
	case "CP1252":
		return charmap.Windows1252, true
	case "ASCII":
		return asciiOnly{}, true
	}
	return nil, false
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
	opts, names, err := c.Options()
	if err != nil {
		return err
	}
	r := &iconvRun{Call: c, from: unicode.UTF8, to: unicode.UTF8, w: c.Stdout}
	output := ""
	for _, o := range opts {
		name, suffix, _ := strings.Cut(o.Value, "//")
		ok := true
		switch o.Name {
		case "f":
			r.from, ok = iconvEncoding(name)
		case "t":
			r.to, ok = iconvEncoding(name)
			r.mark = strings.HasSuffix(strings.ToUpper(name), "16")
			r.question = strings.Contains(strings.ToUpper(suffix), "TRANSLIT")
			r.drop = r.drop || strings.Contains(strings.ToUpper(suffix), "IGNORE")
		case "c":
			r.drop = true
		case "o":
			output = o.Value
		case "l":
			return iconvList(c)
		}
		if !ok {
			return c.Fail(1, "conversion %s `%s' is not supported\nTry `iconv --help' or `iconv --usage' for more information.",
				map[string]string{"f": "from", "t": "to"}[o.Name], name)
		}
	}
	if output != "" {
		f, err := c.FS.Open(c.Path(output), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
		if err != nil {
			return c.Fail(1, "unable to open output file: %s", vfs.Reason(err))
		}
		defer f.Close()
		r.w = stream.NewWriter(f)
		defer r.w.Flush()
	}
	return r.run(names)
}

func iconvList(c *shell.Call) error {
	_, err := c.Stdout.WriteString(
		"ASCII//\nCP1252//\nEUC-JP//\nISO-2022-JP//\nISO-8859-1//\nSHIFT_JIS//\nUTF-16//\nUTF-16BE//\nUTF-16LE//\nUTF-8//\n")
	return err
}

func (r *iconvRun) run(names []string) error {
	if r.mark { // once, though the encoder is used piece by piece
		r.to, _ = iconvEncoding("UTF-16LE")
		r.w.Write([]byte{0xff, 0xfe})
	}
	r.encoder = r.to.NewEncoder()
	for _, name := range names {
		if _, err := r.FS.Stat(r.Path(name)); err != nil && !shell.IsStdin(name) {
			return r.Fail(1, "cannot open input file `%s': %s", name, vfs.Reason(err))
		}
	}
	for in := range r.InputsBytes(names) {
		if err := r.convert(in); err != nil {
			return err
		}
	}
	return nil
}

// convert decodes to UTF-8 and encodes piece by piece. The replacement
// character is what decoders give for bytes that make no sense.
func (r *iconvRun) convert(in io.Reader) error {
	taken := int64(0)
	src := io.Reader(&cli.CountingReader{R: in, N: &taken})
	if r.from != unicode.UTF8 {
		src = transform.NewReader(src, r.from.NewDecoder())
	}
	buf := make([]byte, 0, 64<<10)
	for done := false; !done; {
		n, err := src.Read(buf[len(buf) : len(buf)+(cap(buf)-len(buf))/2])
		buf = buf[:len(buf)+n]
		done = err == io.EOF
		if err != nil && !done {
			return err
		}
		whole := len(buf)
		if !done {
			whole = completeRunes(buf)
		}
		if err := r.encode(buf[:whole], taken-int64(len(buf))); err != nil {
			return err
		}
		buf = append(buf[:0], buf[whole:]...)
	}
	return nil
}

// completeRunes is the length of b without a character that has only begun.
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
func (r *iconvRun) encode(text []byte, at int64) error {
	for len(text) > 0 {
		n := 0
		for n < len(text) {
			ch, size := utf8.DecodeRune(text[n:])
			if ch == utf8.RuneError {
				break
			}
			n += size
		}
		if err := r.write(text[:n], at); err != nil {
			return err
		}
		text, at = text[n:], at+int64(n)
		if len(text) == 0 {
			break
		}
		_, size := utf8.DecodeRune(text)
		if !r.drop {
			return r.stuck(at)
		}
		text, at = text[size:], at+int64(size)
	}
	return nil
}

func (r *iconvRun) stuck(at int64) error {
	r.w.Flush()
	if r.from == unicode.UTF8 {
		return r.Fail(1, "illegal input sequence at position %d", at)
	}
	return r.Fail(1, "illegal input sequence")
}

// write encodes text, character by character if it cannot be done at once.
func (r *iconvRun) write(text []byte, at int64) error {
	if r.to == unicode.UTF8 {
		_, err := r.w.Write(text)
		return err
	}
	if out, err := r.encoder.Bytes(text); err == nil {
		_, err = r.w.Write(out)
		return err
	}
	for i, ch := range string(text) {
		out, err := r.encoder.Bytes([]byte(string(ch)))
		switch {
		case err == nil:
		case r.question:
			out = r.alike(ch)
		case r.drop:
			out = nil
		default:
			return r.stuck(at + int64(i))
		}
		if _, err := r.w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// asciiOnly refuses everything above 0x7f.
type asciiOnly struct{ encoding.Encoding }

func (asciiOnly) NewDecoder() *encoding.Decoder {
	return &encoding.Decoder{Transformer: asciiStep{fix: true}}
}

func (asciiOnly) NewEncoder() *encoding.Encoder { return &encoding.Encoder{Transformer: asciiStep{}} }

// asciiStep copies; what is not ASCII is an error, or with fix becomes the
// replacement character.
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

// plainSigns are the signs of typography that have a plain one.
var plainSigns = strings.NewReplacer("‘", "'", "’", "'", "“", `"`, "”", `"`, "–", "-", "—", "-", "‐", "-", "×", "x",
	"ß", "ss",
	"æ", "ae", "Æ", "AE", "œ", "oe", "Œ", "OE", "ø", "o", "Ø", "O", "«", "<<", "»", ">>", "€", "EUR", "⁄", "/", "©", "(C)",
	"®", "(R)")

// alike spells a character that the encoding lacks: é is e, … is three dots.
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
