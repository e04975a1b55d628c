package file

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hako/shell/command/internal/cli"
)

// A dataKind is the description of some data.
type dataKind struct{ text, mime, charset string }

// sniffKind detects the kind of data from its beginning; size is the length of
// the whole.
func sniffKind(head []byte, size int64) dataKind {
	if len(head) == 0 {
		return dataKind{"empty", "inode/x-empty", "binary"}
	}
	if k, ok := magicKind(head); ok {
		return k
	}
	return textKind(head, int64(len(head)) == size)
}

var magics = []struct {
	at         int
	magic      string
	text, mime string
}{
	{0, "BZh", "bzip2 compressed data, block size = %s00k", "application/x-bzip2"},
	{0, "\xfd7zXZ\x00", "XZ compressed data, checksum %s", "application/x-xz"},
	{0, "\x28\xb5\x2f\xfd", "Zstandard compressed data (v0.8+)", "application/zstd"},
	{0, "7z\xbc\xaf\x27\x1c", "7-zip archive data", "application/x-7z-compressed"},
	{0, "PK\x03\x04", "Zip archive data, %s", "application/zip"},
	{0, "PK\x05\x06", "Zip archive data (empty)", "application/zip"},
	{257, "ustar  \x00", "POSIX tar archive (GNU)", "application/x-tar"},
	{257, "ustar\x00", "POSIX tar archive", "application/x-tar"},
	{0, "\x89PNG\r\n\x1a\n", "PNG image data, %s", "image/png"},
	{0, "GIF8", "GIF image data, version %s", "image/gif"},
	{0, "\xff\xd8\xff", "JPEG image data", "image/jpeg"},
	{0, "%PDF-", "PDF document, version %s", "application/pdf"},
	{0, "\x7fELF", "ELF %s", "application/x-executable"},
	{0, "SQLite format 3\x00", "SQLite 3.x database", "application/vnd.sqlite3"},
	{0, "\x1f\x8b", "gzip compressed data%s", "application/gzip"},
	{8, "WAVEfmt ", "RIFF (little-endian) data, WAVE audio", "audio/x-wav"},
	{8, "WEBP", "RIFF (little-endian) data, Web/P image", "image/webp"},
}

func magicKind(b []byte) (dataKind, bool) {
	for _, m := range magics {
		if len(b) < m.at || !bytes.HasPrefix(b[m.at:], []byte(m.magic)) {
			continue
		}
		text := m.text
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, magicDetail(m.mime, b))
		}
		charset := "binary"
		if m.mime == "application/pdf" && !bytes.Contains(b, []byte{0}) {
			charset = "us-ascii"
		}
		return dataKind{text, m.mime, charset}, true
	}
	return dataKind{}, false
}

// magicDetail is the part of a description that depends on the header. Short
// headers are padded, so that nothing needs a length check.
func magicDetail(mime string, b []byte) string {
	h := append(slices.Clone(b[:min(len(b), 64)]), make([]byte, 64)...)
	switch mime {
	case "application/x-bzip2":
		return string(h[3:4])
	case "application/x-xz":
		return map[byte]string{0: "none", 1: "CRC32", 4: "CRC64", 10: "SHA-256"}[h[7]]
	case "application/zip":
		method := map[byte]string{0: "store", 8: "deflate"}[h[8]]
		return fmt.Sprintf("at least v%d.%d to extract, compression method=%s", h[4]/10, h[4]%10, method)
	case "image/png":
		return pngDetail(h)
	case "image/gif":
		return fmt.Sprintf("%s, %d x %d", h[3:6], binary.LittleEndian.Uint16(h[6:]), binary.LittleEndian.Uint16(h[8:]))
	case "application/pdf":
		version, _, _ := bytes.Cut(h[5:16], []byte("\n"))
		return strings.TrimRight(string(version), "\r\x00")
	case "application/x-executable":
		return elfDetail(h)
	case "application/gzip":
		return gzipDetail(b)
	}
	return ""
}

func pngDetail(h []byte) string {
	kind := map[byte]string{0: "grayscale", 2: "/color RGB", 3: " colormap", 4: " gray+alpha", 6: "/color RGBA"}[h[25]]
	if h[25] == 0 {
		kind = " " + kind
	}
	lace := "non-interlaced"
	if h[28] != 0 {
		lace = "interlaced"
	}
	return fmt.Sprintf("%d x %d, %d-bit%s, %s", binary.BigEndian.Uint32(h[16:]), binary.BigEndian.Uint32(h[20:]), h[24],
		kind, lace)
}

func elfDetail(h []byte) string {
	width := map[byte]string{1: "32-bit", 2: "64-bit"}[h[4]]
	order := map[byte]string{1: "LSB", 2: "MSB"}[h[5]]
	kind := map[byte]string{1: "relocatable", 2: "executable", 3: "shared object", 4: "core file"}[h[16]]
	machine := map[byte]string{3: "Intel 80386", 0x28: "ARM", 0x3e: "x86-64", 0xb7: "ARM aarch64",
		0xf3: "UCB RISC-V"}[h[18]]
	return fmt.Sprintf("%s %s %s, %s, version 1 (SYSV)", width, order, kind, machine)
}

func gzipDetail(b []byte) string {
	h := append(slices.Clone(b[:min(len(b), 256)]), make([]byte, 64)...)
	text := ""
	if h[3]&8 != 0 && h[3]&4 == 0 {
		name, _, _ := bytes.Cut(h[10:], []byte{0})
		text += fmt.Sprintf(", was %q", name)
	}
	if t := binary.LittleEndian.Uint32(h[4:]); t != 0 {
		text += ", last modified: " + time.Unix(int64(t), 0).UTC().Format("Mon Jan 2 15:04:05 2006")
	}
	switch h[8] {
	case 2:
		text += ", max compression"
	case 4:
		text += ", max speed"
	}
	if h[9] == 3 {
		text += ", from Unix"
	}
	if len(b) < sniffBytes && len(b) >= 18 {
		text += fmt.Sprintf(", original size modulo 2^32 %d", binary.LittleEndian.Uint32(b[len(b)-4:]))
	}
	return text
}

// textKind describes text; whole is set if b is all of it.
func textKind(b []byte, whole bool) dataKind {
	encoding, charset := encodingOf(b, whole)
	if charset == "binary" {
		return dataKind{"data", "application/octet-stream", "binary"}
	}
	if whole && looksJSON(b) {
		return dataKind{"JSON text data", "application/json", charset}
	}
	if looksCSV(b) {
		text := "CSV text"
		if charset != "us-ascii" {
			text = "CSV " + encoding
		}
		return dataKind{text, "text/csv", charset}
	}
	what, mime := languageOf(b)
	executable := ""
	if mime == "text/x-shellscript" || strings.HasPrefix(mime, "text/x-script") || strings.HasSuffix(what, "script, ") {
		executable = " executable"
	}
	return dataKind{what + encoding + executable + lineNotes(b, whole), mime, charset}
}

// encodingOf names the encoding of a text; charset "binary" means that it is not text.
func encodingOf(b []byte, whole bool) (text, charset string) {
	switch {
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return "Unicode text, UTF-16, big-endian text", "utf-16be"
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return "Unicode text, UTF-16, little-endian text", "utf-16le"
	case bytes.ContainsFunc(b, func(r rune) bool {
		return r < 32 && !strings.ContainsRune("\a\b\t\n\v\f\r\x1b", r) ||
			r == 127
	}):
		return "", "binary"
	}
	if !whole {
		b = b[:len(b)-partialRune(b)]
	}
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")) && utf8.Valid(b):
		return "Unicode text, UTF-8 (with BOM) text", "utf-8"
	case utf8.Valid(b) && len(b) == utf8.RuneCount(b):
		return "ASCII text", "us-ascii"
	case utf8.Valid(b):
		return "Unicode text, UTF-8 text", "utf-8"
	case !slices.ContainsFunc(b, func(c byte) bool { return c >= 0x80 && c < 0xa0 }):
		return "ISO-8859 text", "iso-8859-1"
	}
	return "Non-ISO extended-ASCII text", "unknown-8bit"
}

// partialRune is how many bytes at the end belong to a character cut in two.
func partialRune(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if utf8.FullRune(b[len(b)-i:]) {
				return 0
			}
			return i
		}
	}
	return 0
}

func looksJSON(b []byte) bool {
	t := bytes.TrimLeft(b, " \t\r\n")
	return len(t) > 0 && (t[0] == '{' || t[0] == '[') && json.Valid(b)
}

// looksCSV reports whether several lines have the same number of commas.
func looksCSV(b []byte) bool {
	lines := bytes.SplitN(b, []byte("\n"), 12)
	if len(lines) < 3 {
		return false
	}
	commas := bytes.Count(lines[0], []byte(","))
	for _, line := range lines[:len(lines)-1] {
		if bytes.Count(line, []byte(",")) != commas {
			return false
		}
	}
	return commas > 0
}

// languageOf detects the language of a text by its first lines.
func languageOf(b []byte) (what, mime string) {
	first, _, _ := strings.Cut(string(b[:min(len(b), 512)]), "\n")
	if line, ok := strings.CutPrefix(first, "#!"); ok {
		return interpreter(strings.TrimSpace(line))
	}
	low := strings.ToLower(string(bytes.TrimLeft(b[:min(len(b), 4096)], " \t\r\n")))
	switch {
	case strings.HasPrefix(low, "<?xml"):
		return "XML 1.0 document, ", "text/xml"
	case strings.HasPrefix(low, "<!doctype html"), strings.HasPrefix(low, "<html"):
		return "HTML document, ", "text/html"
	case strings.HasPrefix(low, "diff "), strings.HasPrefix(low, "--- ") && strings.Contains(low, "\n+++ "):
		return "unified diff output, ", "text/x-diff"
	case strings.Contains(low, "#include <"), strings.Contains(low, "#include \""):
		return "C source, ", "text/x-c"
	case (strings.HasPrefix(low, "import ") || strings.HasPrefix(low, "from ") || strings.HasPrefix(low, "def ")) &&
		strings.Contains(low, ":\n"):
		return "Python script, ", "text/x-script.python"
	}
	return "", "text/plain"
}

// scripts are the kinds of scripts by the name of their interpreter.
var scripts = []struct{ pattern, what, mime string }{
	{"sh", "POSIX shell script", "text/x-shellscript"},
	{"dash", "POSIX shell script", "text/x-shellscript"},
	{"bash", "Bourne-Again shell script", "text/x-shellscript"},
	{"python*", "Python script", "text/x-script.python"},
	{"perl*", "Perl script text executable", "text/x-perl"},
	{"node", "Node.js script", "application/javascript"},
	{"ruby", "Ruby script", "text/x-ruby"},
	{"*awk", "awk script", "text/x-awk"},
}

// interpreter names the script by its "#!" line.
func interpreter(line string) (what, mime string) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", "text/plain"
	}
	name := cli.Base(words[0])
	if name == "env" && len(words) > 1 {
		name = words[1]
	}
	for _, s := range scripts {
		if ok, _ := path.Match(s.pattern, name); ok {
			return s.what + ", ", s.mime
		}
	}
	return "a " + line + " script, ", "text/plain"
}

// lineNotes describes unusual lines.
func lineNotes(b []byte, whole bool) string {
	var notes []string
	longest := 0
	for line := range bytes.SplitSeq(b, []byte("\n")) {
		longest = max(longest, len(bytes.TrimRight(line, "\r")))
	}
	if longest > 300 {
		notes = append(notes, fmt.Sprintf("with very long lines (%d)", longest))
	}
	crlf := bytes.Count(b, []byte("\r\n"))
	lf := bytes.Count(b, []byte("\n")) - crlf
	cr := bytes.Count(b, []byte("\r")) - crlf
	switch {
	case crlf+lf+cr == 0 && whole:
		notes = append(notes, "with no line terminators")
	case crlf > 0 || cr > 0:
		var kinds []string
		for _, k := range []struct {
			n    int
			name string
		}{{crlf, "CRLF"}, {cr, "CR"}, {lf, "LF"}} {
			if k.n > 0 {
				kinds = append(kinds, k.name)
			}
		}
		notes = append(notes, "with "+strings.Join(kinds, ", ")+" line terminators")
	}
	if bytes.IndexByte(b, 0x1b) >= 0 {
		notes = append(notes, "with escape sequences")
	}
	if len(notes) == 0 {
		return ""
	}
	return ", " + strings.Join(notes, ", ")
}
