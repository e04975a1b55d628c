package archive

import (
	"archive/zip"
	"cmp"
	"compress/flate"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/vfs"
)

var Zip = shell.Command{Name: "zip", Run: runZip}

type zipCall struct {
	*shell.Call
	ctx                                              context.Context
	recurse, quiet, junk, move, links, noDirs, erase bool
	level                                            int
	exclude, include                                 []string
	archive                                          string
	items                                            []zipItem
	have                                             map[string]bool
	moved                                            []string
	w                                                *zip.Writer
	log                                              io.Writer
}

// A zipItem is a file to store and the name it gets.
type zipItem struct {
	file, stored string
	info         vfs.Info // zero for standard input
	stdin        bool
}

func runZip(ctx context.Context, c *shell.Call) (err error) {
	defer cli.Catch(&err)
	z := &zipCall{Call: c, ctx: ctx, level: 6, have: map[string]bool{}, log: c.Stdout}
	c.Args = cutLists(c.Args, map[string]*[]string{
		"-x": &z.exclude, "--exclude": &z.exclude, "-i": &z.include, "--include": &z.include,
		"@": nil,
	})
	stdinNames := false
	names, err := cli.Parse(c, cli.Flags{
		"@": &stdinNames, "r": &z.recurse, "q": &z.quiet, "j": &z.junk, "m": &z.move, "y": &z.links, "D": &z.noDirs,
		"d": &z.erase, "0 1 2 3 4 5 6 7 8 9": setDigit(&z.level),
	})
	if err != nil {
		return shell.Status(16)
	}
	if len(names) == 0 {
		return shell.ErrUsage
	}
	z.archive = names[0]
	if z.archive == "-" {
		z.log = c.Stderr
	} else if !strings.Contains(path.Base(z.archive), ".") {
		z.archive += ".zip"
	}
	names = names[1:]
	if stdinNames {
		if names, err = z.fromStdin(names); err != nil {
			return err
		}
	}
	if z.quiet {
		z.log = io.Discard
	}
	if z.erase {
		return z.rewrite(names)
	}
	for _, name := range names {
		z.collect(name)
	}
	if len(z.items) == 0 {
		fmt.Fprintf(c.Stderr, "\nzip error: Nothing to do! (%s)\n", z.archive)
		return shell.Status(12)
	}
	return z.rewrite(nil)
}

// cutLists removes options with a list of patterns from the words. A list extends to
// the next option, or to a word whose list is nil.
func cutLists(args []string, options map[string]*[]string) (rest []string) {
	var list *[]string
	for _, a := range args {
		to, isOption := options[a]
		switch {
		case isOption && (to != nil || list != nil):
			list = to
		case list != nil && (len(a) < 2 || a[0] != '-') && a != "-":
			*list = append(*list, a)
		default:
			list = nil
			rest = append(rest, a)
		}
	}
	return rest
}

func (z *zipCall) fromStdin(names []string) ([]string, error) {
	for {
		line, err := z.Stdin.Line()
		if err == io.EOF {
			return names, nil
		}
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimRight(string(line), "\n"))
		if err := z.Limiter.Fits(int64(len(names)) * 64); err != nil {
			return nil, err
		}
	}
}

// collect adds the files of one operand.
func (z *zipCall) collect(name string) {
	cli.CheckStopped(z.ctx, z.Call)
	if name == "-" {
		z.items = append(z.items, zipItem{stored: "-", stdin: true})
		return
	}
	stat := z.FS.Stat
	if z.links {
		stat = z.FS.Lstat
	}
	info, err := stat(z.Path(name))
	if err != nil {
		fmt.Fprintf(z.Stderr, "\tzip warning: name not matched: %s\n", name)
		return
	}
	stored := strings.TrimLeft(path.Clean(name), "/")
	for strings.HasPrefix(stored, "../") {
		stored = stored[3:]
	}
	if z.junk {
		stored = path.Base(stored)
	}
	if !info.IsDir() {
		z.add(zipItem{file: name, stored: stored, info: info})
		return
	}
	if !z.junk && !z.noDirs && stored != "." && stored != ".." {
		z.add(zipItem{file: name, stored: stored + "/", info: info})
	}
	if !z.recurse {
		return
	}
	entries, err := z.FS.ReadDir(z.Path(name))
	cli.Check(err)
	for _, e := range entries {
		z.collect(strings.TrimSuffix(name, "/") + "/" + e.Name())
	}
}

func (z *zipCall) add(item zipItem) {
	if zipMatches(z.exclude, item.stored) || len(z.include) > 0 && !zipMatches(z.include, item.stored) {
		return
	}
	if z.archive != "-" && z.Path(item.file) == z.Path(z.archive) || z.have[item.stored] {
		return
	}
	z.have[item.stored] = true
	z.items = append(z.items, item)
}

func zipMatches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return cli.Fnmatch(p, name, false) })
}

// rewrite writes a new archive and renames it to the old one.
// With erase, entries that match are left out.
func (z *zipCall) rewrite(erase []string) error {
	if z.archive == "-" {
		z.w = zip.NewWriter(z.Stdout)
		return z.write(nil, erase)
	}
	old, closeOld, err := z.openOld()
	if err != nil {
		return err
	}
	defer closeOld()
	tmp, name, err := z.FS.CreateTemp(path.Dir(z.Path(z.archive)), "zi*")
	if err != nil {
		fmt.Fprintf(z.Stderr, "zip error: Could not create output file (%s)\n", z.archive)
		return shell.Status(15)
	}
	z.w = zip.NewWriter(tmp)
	err = z.write(old, erase)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		z.FS.Chmod(name, 0o644)
		err = z.FS.Rename(name, z.Path(z.archive))
	}
	if err != nil {
		z.FS.Remove(name)
		return err
	}
	for _, file := range z.moved {
		z.FS.Remove(z.Path(file))
	}
	return nil
}

func (z *zipCall) openOld() (*zip.Reader, func(), error) {
	f, err := z.OpenBytes(z.archive)
	if err != nil {
		if z.erase {
			fmt.Fprintf(z.Stderr, "\nzip error: Nothing to do! (%s)\n", z.archive)
			return nil, nil, shell.Status(12)
		}
		return nil, func() {}, nil
	}
	r, err := openZip(z.Limiter, f)
	if err != nil {
		f.Close()
		if isLimit(err) {
			return nil, nil, err
		}
		fmt.Fprintf(z.Stderr, "\nzip error: Zip file structure invalid (%s)\n", z.archive)
		return nil, nil, shell.Status(3)
	}
	return r, func() { f.Close() }, nil
}

func (z *zipCall) write(old *zip.Reader, erase []string) (err error) {
	defer cli.Catch(&err)
	z.w.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, z.level) })
	fresh := map[string]zipItem{}
	for _, item := range z.items {
		fresh[item.stored] = item
	}
	if old != nil {
		for _, f := range old.File {
			if item, ok := fresh[f.Name]; ok {
				delete(fresh, f.Name)
				z.store(item, "updating")
			} else if zipMatches(erase, f.Name) {
				fmt.Fprintf(z.log, "deleting: %s\n", f.Name)
			} else {
				cli.Check(z.w.Copy(f))
			}
		}
	}
	for _, item := range z.items {
		if _, ok := fresh[item.stored]; ok {
			z.store(item, "  adding")
		}
	}
	return z.w.Close()
}

// store writes one entry. A file is compressed twice, the first time only to
// measure whether that saves space, which needs no buffer.
func (z *zipCall) store(item zipItem, verb string) {
	h := &zip.FileHeader{Name: item.stored, Modified: z.Now().UTC(), Method: zip.Store}
	if item.stdin {
		h.Method = zip.Deflate
		fmt.Fprintf(z.log, "%s: %s (deflated)\n", verb, item.stored)
		z.copyIn(h, z.Stdin)
		return
	}
	h.Modified = item.info.ModTime().UTC().Truncate(2 * time.Second)
	h.SetMode(item.info.Mode())
	saved, mode := 0, item.info.Mode()
	if mode.IsRegular() && z.level > 0 {
		if size, packed := z.trial(item.file); packed < size {
			h.Method = zip.Deflate
			saved = int((float64(size-packed))*100/float64(size) + 0.5)
		}
	}
	method := map[uint16]string{zip.Store: "stored", zip.Deflate: "deflated"}[h.Method]
	fmt.Fprintf(z.log, "%s: %s (%s %d%%)\n", verb, item.stored, method, saved)
	if mode.IsDir() {
		_, err := z.w.CreateHeader(h)
		cli.Check(err)
		return
	}
	if mode&fs.ModeSymlink != 0 {
		target, err := z.FS.Readlink(z.Path(item.file))
		cli.Check(err)
		z.copyIn(h, strings.NewReader(target))
		return
	}
	f, err := z.FS.Open(z.Path(item.file), os.O_RDONLY|vfs.Binary, 0)
	if err != nil {
		fmt.Fprintf(z.Stderr, "\tzip warning: could not open for reading: %s\n", item.file)
		return
	}
	defer f.Close()
	if z.move {
		z.moved = append(z.moved, item.file)
	}
	z.copyIn(h, f)
}

func (z *zipCall) copyIn(h *zip.FileHeader, r io.Reader) {
	w, err := z.w.CreateHeader(h)
	cli.Check(err)
	_, err = io.Copy(w, &contextReader{ctx: z.ctx, r: r})
	cli.Check(err)
}

// trial measures a file before and after compression.
func (z *zipCall) trial(name string) (size, packed int64) {
	f, err := z.OpenBytes(name)
	if err != nil {
		return 0, 0
	}
	defer f.Close()
	fw, err := flate.NewWriter(&countedWriter{io.Discard, &packed}, z.level)
	cli.Check(err)
	size, err = io.Copy(fw, &contextReader{ctx: z.ctx, r: f})
	cli.Check(cmp.Or(err, fw.Close()))
	return size, packed
}
