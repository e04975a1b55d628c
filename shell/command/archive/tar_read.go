package archive

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"hako/shell"
	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// A tarReader lists or unpacks an archive.
type tarReader struct {
	*tarCall
	r        *tar.Reader
	deferred []func() // links that lead elsewhere, and times of directories
	seen     int
	plain    int64
}

// read opens the archive and goes through its members.
func (t *tarCall) read() {
	in, done, err := cli.OpenWith(t.Call, t.file, t.OpenBytes)
	if err != nil {
		cli.Check(t.fatal("%s: Cannot open: %s", t.file, vfs.Reason(err)))
	}
	defer done()
	watched := &contextReader{ctx: t.ctx, r: in}
	unpacked, p, err := t.unpack(watched)
	if err == nil {
		reader := &tarReader{tarCall: t}
		reader.r = tar.NewReader(&cli.CountingReader{R: unpacked, N: &reader.plain})
		err = reader.members()
		if p == nil && reader.seen == 0 && (err == nil && reader.plain == 0 || errors.Is(err, io.ErrUnexpectedEOF)) {
			err = tar.ErrHeader
		}
	}
	cli.Check(watched.err)
	_, reported := errors.AsType[shell.Status](err)
	switch {
	case err == nil || reported || isLimit(err) || errors.Is(err, stream.ErrPipe):
		cli.Check(err)
	default:
		cli.Check(t.Limiter.Err())
		cli.Check(t.broken(p, err))
	}
}

// unpack detects the compression of the archive.
func (t *tarCall) unpack(r io.Reader) (io.Reader, *packer, error) {
	br := bufio.NewReaderSize(r, 64<<10)
	tool := t.packing
	head, _ := br.Peek(6)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		tool = &gzipTool
	case bytes.HasPrefix(head, []byte("BZh")):
		tool = &bzip2Tool
	case bytes.Equal(head, xzMagic):
		tool = &xzTool
	}
	if tool == nil {
		return br, nil, nil
	}
	p := &packer{Call: t.Call, ctx: t.ctx, tool: tool, decode: true}
	plain, err := tool.open(p, br)
	return plain, p, err
}

// broken reports data that cannot be read, as the program that unpacks it would.
func (t *tarCall) broken(p *packer, err error) error {
	switch {
	case p != nil && !errors.Is(err, tar.ErrHeader):
		name := t.Name
		t.Name = p.tool.name
		p.reportBadData("stdin", err)
		t.Name = name
		return t.fatal("Child returned status %d", max(p.status, 1))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return t.fatal("Unexpected EOF in archive")
	case errors.Is(err, tar.ErrHeader):
		t.fail("This does not look like a tar archive")
		return nil
	}
	return t.fatal("%v", err)
}

func (r *tarReader) members() (err error) {
	defer cli.Catch(&err)
	for {
		h, err := r.r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		r.seen++
		r.member(h)
	}
	for i := range r.operands {
		if !r.operands[i].found {
			r.fail("%s: Not found in archive", r.operands[i].name)
		}
	}
	for _, finish := range slices.Backward(r.deferred) {
		finish()
	}
	return r.Stdout.Err()
}

// wanted reports whether the operands ask for this member, and from which
// directory.
func (r *tarReader) wanted(name string) (dir string, ok bool) {
	if len(r.operands) == 0 {
		return r.dir, !r.excluded(name)
	}
	for i := range r.operands {
		o := &r.operands[i]
		want := strings.TrimSuffix(o.name, "/")
		plain := strings.TrimSuffix(name, "/")
		if plain == want || strings.HasPrefix(plain, want+"/") || r.wild && cli.Fnmatch(want, plain, false) {
			o.found = true
			return o.dir, !r.excluded(name)
		}
	}
	return "", false
}

func (r *tarReader) member(h *tar.Header) {
	dir, ok := r.wanted(h.Name)
	if !ok {
		return
	}
	name, ok := r.safeName(h.Name, "member names")
	if r.mode == 't' {
		r.list(h)
		return
	}
	if !ok {
		r.fail("%s: Member name contains '..'", h.Name)
		return
	}
	if name = stripParts(name, r.strip); name == "" {
		return
	}
	if r.verbose {
		w := io.Writer(r.Stdout)
		if r.stdout {
			w = r.Stderr
		}
		_, err := fmt.Fprintln(w, h.Name)
		cli.Check(err)
	}
	switch {
	case !r.stdout:
		r.extract(r.at(dir, name), name, h)
	case h.Typeflag == tar.TypeReg:
		_, err := io.Copy(struct{ io.Writer }{r.Stdout}, r.r)
		cli.Check(err)
	}
}

func stripParts(name string, n int) string {
	dir := strings.HasSuffix(name, "/")
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	if len(parts) <= n {
		return ""
	}
	name = strings.Join(parts[n:], "/")
	if dir {
		name += "/"
	}
	return name
}

func (r *tarReader) extract(full, name string, h *tar.Header) {
	if h.Typeflag == tar.TypeDir {
		r.directory(full, name, h)
		return
	}
	err := r.FS.MkdirAll(path.Dir(strings.TrimSuffix(full, "/")), 0o777)
	if err == nil {
		err = r.clear(full)
	}
	switch {
	case err != nil && h.Typeflag == tar.TypeSymlink:
		r.check(err, "%s: Cannot create symlink to ‘%s’", name, h.Linkname)
	case err != nil:
		r.check(err, "%s: Cannot open", name)
	case h.Typeflag == tar.TypeReg || h.Typeflag == tar.TypeGNUSparse || h.Typeflag == tar.TypeCont:
		r.regular(full, name, h)
	case h.Typeflag == tar.TypeSymlink:
		r.symlink(full, name, h)
	case h.Typeflag == tar.TypeLink:
		r.hardlink(full, name, h)
	default:
		r.warn("%s: special files are not made here; skipped", name)
	}
}

// clear removes the file that a new one replaces. It never follows a link.
func (r *tarReader) clear(full string) error {
	info, err := r.FS.Lstat(full)
	if err != nil {
		return nil
	}
	if r.keep {
		return fs.ErrExist
	}
	if info.IsDir() {
		return vfs.ErrIsDir
	}
	return r.FS.Remove(full)
}

func (r *tarReader) directory(full, name string, h *tar.Header) {
	if err := r.FS.MkdirAll(full, 0o777); err != nil {
		r.check(err, "%s: Cannot mkdir", name)
		return
	}
	r.FS.Chmod(full, fs.FileMode(h.Mode)&0o777|0o700)
	r.later(func() { r.restore(full, h) })
}

// later runs f when all members were read.
func (r *tarReader) later(f func()) {
	r.deferred = append(r.deferred, f)
	cli.Check(r.Limiter.Fits(int64(len(r.deferred)) * 128))
}

// restore gives a file the permissions and the time of its member.
func (r *tarReader) restore(full string, h *tar.Header) {
	r.FS.Chmod(full, fs.FileMode(h.Mode)&0o777)
	r.FS.Chtimes(full, h.ModTime, h.ModTime)
}

func (r *tarReader) regular(full, name string, h *tar.Header) {
	f, err := r.FS.Open(full, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fs.FileMode(h.Mode)&0o777)
	if err != nil {
		r.check(err, "%s: Cannot open", name)
		return
	}
	cli.Check(writeFile(f, func(w *stream.Writer) {
		_, err := io.Copy(struct{ io.Writer }{w}, r.r)
		cli.Check(err)
	}))
	r.restore(full, h)
}

// symlink waits until the end with a link that leads out of its directory: an
// archive must not be able to write through a link that it contains.
func (r *tarReader) symlink(full, name string, h *tar.Header) {
	make := func() {
		r.check(r.FS.Symlink(h.Linkname, full), "%s: Cannot create symlink to ‘%s’", name, h.Linkname)
	}
	if strings.HasPrefix(h.Linkname, "/") || strings.Contains("/"+h.Linkname+"/", "/../") {
		r.later(make)
	} else {
		make()
	}
}

func (r *tarReader) hardlink(full, name string, h *tar.Header) {
	target, ok := r.safeName(h.Linkname, "hard link targets")
	if !ok {
		r.fail("%s: Member name contains '..'", h.Linkname)
		return
	}
	if target = stripParts(target, r.strip); target != "" {
		base := strings.TrimSuffix(full, "/"+strings.TrimSuffix(name, "/"))
		r.check(r.FS.Link(r.at(base, target), full), "%s: Cannot hard link to ‘%s’", name, h.Linkname)
	}
}

// list prints one member, with -v in the form of ls -l.
func (r *tarReader) list(h *tar.Header) {
	line := h.Name
	if r.verbose {
		owner := r.ownerOf(h)
		size := fmt.Sprint(h.Size)
		if h.Typeflag == tar.TypeChar || h.Typeflag == tar.TypeBlock {
			size = fmt.Sprintf("%d,%d", h.Devmajor, h.Devminor)
		}
		r.width = max(r.width, len(owner)+1+len(size))
		line = fmt.Sprintf("%s %s %*s %s %s", tarMode(h), owner, r.width-len(owner)-1, size,
			h.ModTime.UTC().Format("2006-01-02 15:04"), h.Name)
		switch h.Typeflag {
		case tar.TypeSymlink:
			line += " -> " + h.Linkname
		case tar.TypeLink:
			line += " link to " + h.Linkname
		}
	}
	_, err := r.Stdout.WriteString(line + "\n")
	cli.Check(err)
}

func (r *tarReader) ownerOf(h *tar.Header) string {
	user, group := h.Uname, h.Gname
	if user == "" || r.numeric {
		user = fmt.Sprint(h.Uid)
	}
	if group == "" || r.numeric {
		group = fmt.Sprint(h.Gid)
	}
	return user + "/" + group
}

// tarMode is the kind and the permissions of a member, as ls -l prints them.
func tarMode(h *tar.Header) string {
	text := cli.ModeText(h.FileInfo().Mode())
	if h.Typeflag == tar.TypeLink {
		return "h" + text[1:]
	}
	return text
}
