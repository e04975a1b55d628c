package data

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"

	"golang.org/x/crypto/blake2b"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

// An algorithm is a cryptographic checksum.
type algorithm struct {
	label string // in the output
	fresh func() hash.Hash
}

var digests = map[string]algorithm{
	"md5": {"MD5", md5.New}, "sha1": {"SHA1", sha1.New}, "sha224": {"SHA224", sha256.New224},
	"sha256": {"SHA256", sha256.New}, "sha384": {"SHA384", sha512.New384}, "sha512": {"SHA512", sha512.New},
	"blake2b": {"BLAKE2b", newBlake2b},
}

var (
	Md5sum    = digestCommand("md5sum", "md5")
	Sha1sum   = digestCommand("sha1sum", "sha1")
	Sha224sum = digestCommand("sha224sum", "sha224")
	Sha256sum = digestCommand("sha256sum", "sha256")
	Sha384sum = digestCommand("sha384sum", "sha384")
	Sha512sum = digestCommand("sha512sum", "sha512")
	B2sum     = digestCommand("b2sum", "blake2b")
)

// newBlake2b is BLAKE2b-512 without a key.
func newBlake2b() hash.Hash {
	h, _ := blake2b.New512(nil) // only a key could be wrong
	return h
}

func digestCommand(name, algorithm string) shell.Command {
	return shell.Command{Name: name, Run: func(ctx context.Context, c *shell.Call) error {
		return runDigest(&digest{Call: c, algorithm: digests[algorithm]})
	}}
}

// A digest is one call of a checksum command.
type digest struct {
	*shell.Call
	algorithm
	binary, check, tag, zero             bool
	missing, quiet, status, strict, warn bool
}

func runDigest(d *digest) (err error) {
	defer cli.Catch(&err)
	checkOnly := ""
	verifying := func(name string, to *bool) func() {
		return func() { *to, checkOnly = true, name }
	}
	names, err := cli.Parse(d.Call, cli.Flags{
		"b": &d.binary, "t": cli.Set(&d.binary, false), "c": &d.check, "z": &d.zero, "tag": &d.tag,
		"ignore-missing": verifying("ignore-missing", &d.missing), "quiet": verifying("quiet", &d.quiet),
		"status": verifying("status", &d.status), "strict": verifying("strict", &d.strict),
		"w": verifying("warn", &d.warn),
	})
	if err != nil {
		return err
	}
	if checkOnly != "" && !d.check {
		return cli.Misuse(d.Call, "the --%s option is meaningful only when verifying checksums", checkOnly)
	}
	for in := range d.InputsBytes(names) {
		if d.check {
			d.verifyList(in)
		} else {
			d.print(in)
		}
	}
	return nil
}

func (d *digest) print(in shell.Input) {
	d.Stdout.WriteString(d.line(d.sum(in), in.Name))
	// Flushed for each file: large files take long, and messages must follow their lines.
	cli.Check(d.Stdout.Flush())
}

// sum reads all of in.
func (d *digest) sum(in io.WriterTo) string {
	h := d.fresh()
	_, err := in.WriteTo(h)
	cli.Check(err)
	return hex.EncodeToString(h.Sum(nil))
}

// line is one line of output; a name with a newline or a backslash is escaped
// and the line marked with a backslash in front.
func (d *digest) line(sum, name string) string {
	mark, end := "", "\x00"
	if !d.zero {
		end = "\n"
		mark, name = escapeDigestName(name)
	}
	if d.tag {
		return mark + d.label + " (" + name + ") = " + sum + end
	}
	kind := " "
	if d.binary {
		kind = "*"
	}
	return mark + sum + " " + kind + name + end
}

// escapeDigestName returns the mark of a line whose name is escaped, and the name.
func escapeDigestName(name string) (mark, escaped string) {
	if !strings.ContainsAny(name, "\n\r\\") {
		return "", name
	}
	return `\`, digestEscaper.Replace(name)
}

var (
	digestEscaper   = strings.NewReplacer("\\", `\\`, "\n", `\n`, "\r", `\r`)
	digestUnescaper = strings.NewReplacer(`\\`, "\\", `\n`, "\n", `\r`, "\r")
)

// digestCounts counts the results of the lines of one list.
type digestCounts struct{ good, bad, unread, malformed int }

// verifyList checks the files named in a list.
func (d *digest) verifyList(in shell.Input) {
	var t digestCounts
	for number := 1; ; number++ {
		line, err := in.Line()
		if err == io.EOF {
			break
		}
		cli.Check(err)
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" || text[0] == '#' {
			continue
		}
		sum, name, ok := d.parse(text)
		if !ok {
			t.malformed++
			if d.warn {
				fmt.Fprintf(d.Stderr, "%s: %s: %d: improperly formatted %s checksum line\n", d.Name, in.Name, number, d.label)
			}
			continue
		}
		d.verifyFile(name, sum, &t)
	}
	d.printSummary(in.Name, t)
}

// parse reads a line in either format.
func (d *digest) parse(text string) (sum, name string, ok bool) {
	text = strings.TrimLeft(text, " \t")
	text, escaped := strings.CutPrefix(text, `\`)
	want := 2 * d.fresh().Size()
	if rest, tagged := strings.CutPrefix(text, d.label+" ("); tagged {
		i := strings.LastIndex(rest, ") = ")
		if i < 0 {
			return "", "", false
		}
		name, sum = rest[:i], rest[i+4:]
	} else {
		if len(text) < want+3 || text[want] != ' ' || text[want+1] != ' ' && text[want+1] != '*' {
			return "", "", false
		}
		sum, name = text[:want], text[want+2:]
	}
	if escaped {
		name = digestUnescaper.Replace(name)
	}
	sum = strings.ToLower(sum)
	_, err := hex.DecodeString(sum)
	return sum, name, err == nil && len(sum) == want
}

func (d *digest) verifyFile(name, want string, t *digestCounts) {
	got, err := d.sumOf(name)
	switch {
	case err != nil && d.Limiter.Err() != nil:
		cli.Check(err)
	case err != nil && d.missing && vfs.Reason(err) == "No such file or directory":
	case err != nil:
		t.unread++
		d.WarnFile(name, err)
		d.report(name, "FAILED open or read")
	case got != want:
		t.bad++
		d.report(name, "FAILED")
	default:
		t.good++
		if !d.quiet {
			d.report(name, "OK")
		}
	}
}

func (d *digest) report(name, what string) {
	if d.status {
		return
	}
	mark, name := escapeDigestName(name)
	fmt.Fprintf(d.Stdout, "%s%s: %s\n", mark, name, what)
	cli.Check(d.Stdout.Flush())
}

func (d *digest) sumOf(name string) (sum string, err error) {
	in, done, err := cli.OpenWith(d.Call, name, d.OpenBytes)
	if err != nil {
		return "", err
	}
	defer done()
	err = cli.Try(func() { sum = d.sum(in) })
	return sum, err
}

// printSummary prints the summary of one list.
func (d *digest) printSummary(list string, t digestCounts) {
	if list == "-" {
		list = "'standard input'"
	}
	if t.good+t.bad+t.unread == 0 {
		why := "no properly formatted checksum lines found"
		if d.missing && t.malformed == 0 {
			why = "no file was verified"
		}
		d.Warn("%s: %s", list, why)
		return
	}
	if !d.status {
		d.warnCount(t.malformed, "line is improperly formatted", "lines are improperly formatted")
		d.warnCount(t.unread, "listed file could not be read", "listed files could not be read")
		d.warnCount(t.bad, "computed checksum did NOT match", "computed checksums did NOT match")
	}
	if t.bad+t.unread > 0 || d.strict && t.malformed > 0 {
		cli.Check(shell.Status(1))
	}
}

func (d *digest) warnCount(n int, one, many string) {
	if n == 0 {
		return
	}
	if n > 1 {
		one = many
	}
	fmt.Fprintf(d.Stderr, "%s: WARNING: %d %s\n", d.Name, n, one)
}
