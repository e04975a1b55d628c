package archive

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

var Unzip = shell.Command{Name: "unzip", Run: runUnzip}

type unzip struct {
	*shell.Call
	ctx                                               context.Context
	list, long, names, test, print, over, never, junk bool
	quiet                                             int
	archive, dir                                      string
	members, exclude                                  []string
	status                                            int
	deferred                                          []func() error
}

func runUnzip(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	u := &unzip{Call: c, ctx: ctx}
	c.Args = cutLists(c.Args, map[string]*[]string{"-x": &u.exclude})
	names, err := cli.Parse(c, cli.Flags{
		"l": &u.list, "v": &u.long, "Z 1": &u.names, "t": &u.test, "p c": &u.print, "o": &u.over, "n": &u.never,
		"j": &u.junk, "q": func() { u.quiet++ }, "d": &u.dir,
	})
	if err != nil {
		return shell.Status(10)
	}
	if len(names) == 0 {
		return shell.ErrUsage
	}
	u.members = names[1:]
	f, err := u.open(names[0])
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := openZip(c.Limiter, f)
	if err != nil {
		if isLimit(err) {
			return err
		}
		return u.notZip(names[0])
	}
	u.run(r)
	return cli.StatusOr(u.status, c.Stdout.Err())
}

// open tries the name with and without its suffix.
func (u *unzip) open(name string) (*vfs.File, error) {
	for _, suffix := range []string{"", ".zip", ".ZIP"} {
		f, err := u.OpenBytes(name + suffix)
		if err == nil && !f.IsDir() {
			u.archive = name + suffix
			return f, nil
		}
		if err == nil {
			f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %s", name, vfs.Reason(err))
		}
	}
	fmt.Fprintf(u.Stderr, "unzip:  cannot find or open %s, %s.zip or %s.ZIP.\n", name, name, name)
	return nil, shell.Status(9)
}

func (u *unzip) notZip(name string) error {
	if !u.print && !u.names {
		fmt.Fprintf(u.Stdout, "Archive:  %s\n", u.archive)
	}
	fmt.Fprintf(u.Stderr, `  End-of-central-directory signature not found.  Either this file is not
  a zipfile, or it constitutes one disk of a multi-part archive.  In the
  latter case the central directory and zipfile comment will be found on
  the last disk(s) of this archive.
unzip:  cannot find zipfile directory in one of %s or
        %s.zip, and cannot find %s.ZIP, period.
`, name, name, name)
	return shell.Status(9)
}

func (u *unzip) run(r *zip.Reader) {
	files := u.chosen(r)
	switch {
	case u.names:
		for _, f := range files {
			fmt.Fprintln(u.Stdout, f.Name)
		}
		return
	case u.list || u.long:
		u.table(files)
		return
	}
	if u.quiet == 0 && !u.print {
		fmt.Fprintf(u.Stdout, "Archive:  %s\n", u.archive)
	}
	for _, f := range files {
		u.one(f)
	}
	for _, link := range u.deferred {
		cli.Check(link())
	}
	if u.test && u.quiet < 2 {
		what := "No errors detected in compressed data of %s.\n"
		if u.status != 0 {
			what = "At least one error was detected in %s.\n"
		}
		fmt.Fprintf(u.Stdout, what, u.archive)
	}
}

// chosen returns the members that the operands match.
func (u *unzip) chosen(r *zip.Reader) (files []*zip.File) {
	hit := make([]bool, len(u.members))
	for _, f := range r.File {
		want := len(u.members) == 0
		for i, m := range u.members {
			if cli.Fnmatch(m, f.Name, false) {
				want, hit[i] = true, true
			}
		}
		if want && !zipMatches(u.exclude, f.Name) {
			files = append(files, f)
		}
	}
	for i, m := range u.members {
		if !hit[i] {
			defer fmt.Fprintf(u.Stderr, "caution: filename not matched:  %s\n", m)
			u.status = 11
		}
	}
	return files
}

// one prints, tests or unpacks one member.
func (u *unzip) one(f *zip.File) {
	cli.CheckStopped(u.ctx, u.Call)
	switch {
	case u.print:
		if !strings.HasSuffix(f.Name, "/") {
			u.copyOut(f, struct{ io.Writer }{u.Stdout}, f.Name)
		}
	case u.test:
		u.printf("    testing: %-22s ", f.Name)
		before := u.status
		u.copyOut(f, &contextDiscard{u.ctx}, f.Name)
		if u.status == before {
			u.printf("  OK\n")
		}
	default:
		cli.Check(u.extract(f))
	}
}

// copyOut unpacks one member into w. Damage is reported; errors of the session
// end the command.
func (u *unzip) copyOut(f *zip.File, w io.Writer, name string) {
	r, err := f.Open()
	if err == nil {
		_, err = io.Copy(w, r)
		r.Close()
	}
	switch {
	case err == nil:
	case isLimit(err) || u.Limiter.Err() != nil || errors.Is(err, stream.ErrPipe):
		cli.Check(err)
	case errors.Is(err, zip.ErrChecksum):
		fmt.Fprintf(u.Stderr, " bad CRC\n")
		u.status = max(u.status, 2)
	case errors.Is(err, zip.ErrAlgorithm):
		fmt.Fprintf(u.Stderr, "   skipping: %-22s  unsupported compression method %d\n", name, f.Method)
		u.status = 81
	default:
		fmt.Fprintf(u.Stderr, "  error:  invalid compressed data to inflate %s\n", name)
		u.status = max(u.status, 3)
	}
}

// target is the path of an extracted member; parts that lead out of the directory are removed.
func (u *unzip) target(name string) string {
	if strings.HasPrefix(name, "/") {
		fmt.Fprintf(u.Stderr, "warning:  stripped absolute path spec from %s\n", name)
		u.status = max(u.status, 1)
	}
	dir := strings.HasSuffix(name, "/")
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." {
			fmt.Fprintf(u.Stderr, "warning:  skipped \"../\" path component(s) in %s\n", name)
			u.status = max(u.status, 1)
			continue
		}
		if part != "" && part != "." {
			parts = append(parts, part)
		}
	}
	if u.junk && len(parts) > 1 {
		parts = parts[len(parts)-1:]
	}
	name = path.Join(u.dir, strings.Join(parts, "/"))
	if dir {
		name += "/"
	}
	return name
}

func (u *unzip) extract(f *zip.File) error {
	name := u.target(f.Name)
	full := u.Path(name)
	if strings.HasSuffix(f.Name, "/") {
		if u.junk {
			return nil
		}
		if _, err := u.FS.Stat(full); err == nil {
			return nil
		}
		u.printf("   creating: %s\n", name)
		return u.FS.MkdirAll(full, 0o777)
	}
	if err := u.FS.MkdirAll(path.Dir(full), 0o777); err != nil {
		return fmt.Errorf("%s: %s", name, vfs.Reason(err))
	}
	if info, err := u.FS.Lstat(full); err == nil {
		if !u.replace(name) {
			return nil
		}
		if info.IsDir() {
			return fmt.Errorf("%s: Is a directory", name)
		}
		if err := u.FS.Remove(full); err != nil {
			return err
		}
	}
	if f.Mode()&fs.ModeSymlink != 0 {
		return u.link(f, name)
	}
	verb := "  inflating"
	if f.Method == zip.Store {
		verb = " extracting"
	}
	u.printf("%s: %-22s  \n", verb, name)
	return u.extractFile(f, full)
}

func (u *unzip) printf(format string, args ...any) {
	if u.quiet == 0 {
		fmt.Fprintf(u.Stdout, format, args...)
	}
}

func (u *unzip) extractFile(f *zip.File, full string) error {
	perm := cmp.Or(f.Mode().Perm(), 0o644)
	file, err := u.FS.Open(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	err = writeFile(file, func(w *stream.Writer) { u.copyOut(f, struct{ io.Writer }{w}, f.Name) })
	if err == nil {
		u.FS.Chmod(full, perm)
		u.FS.Chtimes(full, f.Modified, f.Modified)
	}
	return err
}

// link makes symbolic links at the end, so that no member is written through
// a link of the same archive.
func (u *unzip) link(f *zip.File, name string) error {
	r, err := f.Open()
	if err != nil {
		u.status = max(u.status, 3)
		return nil
	}
	defer r.Close()
	target, err := io.ReadAll(io.LimitReader(r, 4096))
	if err != nil {
		u.status = max(u.status, 3)
		return nil
	}
	u.printf("    linking: %-22s  -> %s \n", name, target)
	first := len(u.deferred) == 0
	u.deferred = append(u.deferred, func() error {
		if first {
			u.printf("finishing deferred symbolic links:\n")
		}
		u.printf("  %-22s -> %s\n", name, target)
		return u.FS.Symlink(string(target), u.Path(name))
	})
	return nil
}

// replace asks what to do about a file that exists.
func (u *unzip) replace(name string) bool {
	for !u.over && !u.never {
		fmt.Fprintf(u.Stderr, "replace %s? [y]es, [n]o, [A]ll, [N]one, [r]ename: ", name)
		line, err := u.Stdin.Line()
		if err != nil {
			fmt.Fprintf(u.Stderr, " NULL\n(EOF or read error, treating as \"[N]one\" ...)\n")
			u.never, u.status = true, max(u.status, 1)
			return false
		}
		switch strings.TrimSpace(string(line)) {
		case "y":
			return true
		case "n":
			return false
		case "A":
			u.over = true
		case "N":
			u.never = true
		}
	}
	return u.over
}

// table prints the list of -l or -v.
func (u *unzip) table(files []*zip.File) {
	if u.quiet == 0 {
		fmt.Fprintf(u.Stdout, "Archive:  %s\n", u.archive)
	}
	if u.long {
		u.longTable(files)
		return
	}
	fmt.Fprint(u.Stdout, "  Length      Date    Time    Name\n---------  ---------- -----   ----\n")
	var total uint64
	for _, f := range files {
		total += f.UncompressedSize64
		fmt.Fprintf(u.Stdout, "%9d  %s   %s\n", f.UncompressedSize64, f.Modified.UTC().Format("2006-01-02 15:04"), f.Name)
	}
	fmt.Fprintf(u.Stdout, "---------                     -------\n%9d                     %s\n", total,
		fileCount(len(files)))
}

func fileCount(n int) string { return fmt.Sprintf("%d file%s", n, cli.Plural(n)) }

func (u *unzip) longTable(files []*zip.File) {
	fmt.Fprint(u.Stdout, " Length   Method    Size  Cmpr    Date    Time   CRC-32   Name\n"+
		"--------  ------  ------- ---- ---------- ----- --------  ----\n")
	var total, packed uint64
	for _, f := range files {
		total += f.UncompressedSize64
		packed += f.CompressedSize64
		method := map[uint16]string{zip.Store: "Stored", zip.Deflate: "Defl:N"}[f.Method]
		if method == "" {
			method = fmt.Sprintf("Unk:%03d", f.Method)
		}
		fmt.Fprintf(u.Stdout, "%8d  %-6s %8d %3d%% %s %08x  %s\n", f.UncompressedSize64, method, f.CompressedSize64,
			zipPercent(f.UncompressedSize64, f.CompressedSize64), f.Modified.UTC().Format("2006-01-02 15:04"), f.CRC32, f.Name)
	}
	fmt.Fprintf(u.Stdout, "--------          -------  ---                            -------\n"+
		"%8d         %8d %3d%%                            %s\n",
		total, packed, zipPercent(total, packed), fileCount(len(files)))
}

// zipPercent is how much of the size was saved.
func zipPercent(plain, packed uint64) int64 {
	if plain == 0 {
		return 0
	}
	return int64((1-float64(packed)/float64(plain))*100 + 0.5)
}
