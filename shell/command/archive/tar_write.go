package archive

import (
	"archive/tar"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"hako/shell/command/internal/cli"
	"hako/shell/stream"
	"hako/shell/vfs"
)

// A tarWriter adds files of the tree to an archive.
type tarWriter struct {
	*tarCall
	w     *tar.Writer
	list  io.Writer         // where -v goes
	links map[uint64]string // files with several names that are in already
	self  uint64            // inode of the archive, which must not go into itself
}

// create makes a new archive.
func (t *tarCall) create() {
	if len(t.operands) == 0 {
		cli.Check(t.misuse("Cowardly refusing to create an empty archive"))
	}
	w := &tarWriter{tarCall: t, list: t.Stdout}
	if t.file == "-" {
		w.list = t.Stderr
		w.write(t.Stdout)
		return
	}
	f, err := t.Create(t.file)
	if err != nil {
		cli.Check(t.fatal("%s: Cannot open: %s", t.file, vfs.Reason(err)))
	}
	if info, err := f.Stat(); err == nil {
		w.self = info.Inode()
	}
	cli.Check(writeFile(f, func(out *stream.Writer) { w.write(out) }))
}

// write compresses the archive if required. An archive is padded to full
// records of 10240 bytes.
func (w *tarWriter) write(out io.Writer) {
	tool := w.packing
	if w.auto {
		tool = packingBySuffix(w.file)
	}
	if tool == nil {
		w.members(out, 0)
		return
	}
	zw, err := tool.create(&packer{Call: w.Call, ctx: w.ctx, tool: tool, level: tool.level}, out, "stdin")
	cli.Check(err)
	err = cli.Try(func() { w.members(zw, 0) })
	cli.Check(cmp.Or(err, zw.Close()))
}

func packingBySuffix(name string) *packTool {
	for _, tool := range []*packTool{&gzipTool, &bzip2Tool, &xzTool} {
		for suffix := range tool.suffixes {
			if strings.HasSuffix(name, suffix) {
				return tool
			}
		}
	}
	return nil
}

// members writes all operands and the end of the archive; before is the number
// of bytes that precede them.
func (w *tarWriter) members(out io.Writer, before int64) {
	n := before
	counted := &countedWriter{out, &n}
	w.w, w.links = tar.NewWriter(counted), map[uint64]string{}
	for _, o := range w.operands {
		w.add(o.dir, o.name)
	}
	cli.Check(w.w.Close())
	if rest := n % 10240; rest != 0 {
		_, err := counted.Write(make([]byte, 10240-rest))
		cli.Check(err)
	}
}

// add writes a file, or a directory with all it holds.
func (w *tarWriter) add(dir, name string) {
	cli.CheckStopped(w.ctx, w.Call)
	if w.excluded(name) {
		return
	}
	stat := w.FS.Lstat
	if w.follow {
		stat = w.FS.Stat
	}
	full := w.at(dir, name)
	info, err := stat(full)
	if err != nil {
		w.fail("%s: Cannot stat: %s", name, vfs.Reason(err))
		return
	}
	if w.self != 0 && info.Inode() == w.self {
		w.warn("%s: file is the archive; not dumped", name)
		return
	}
	w.member(full, name, info)
	if !info.IsDir() || w.flat {
		return
	}
	entries, err := w.FS.ReadDir(full)
	if err != nil {
		w.fail("%s: Cannot open: %s", name, vfs.Reason(err))
	}
	for _, e := range entries {
		w.add(dir, strings.TrimSuffix(name, "/")+"/"+e.Name())
	}
}

// member writes one header and its data.
func (w *tarWriter) member(full, name string, info vfs.Info) {
	stored, _ := w.safeName(name, "member names")
	h := &tar.Header{
		Name: stored, Mode: int64(info.Mode().Perm()), ModTime: info.ModTime().Truncate(1e9),
		Uname: w.owner, Gname: w.group, Format: tar.FormatGNU,
	}
	if !w.mtime.IsZero() {
		h.ModTime = w.mtime
	}
	switch mode := info.Mode(); {
	case mode.IsDir():
		h.Typeflag = tar.TypeDir
		h.Name = strings.TrimSuffix(stored, "/") + "/"
	case mode&fs.ModeSymlink != 0:
		target, err := w.FS.Readlink(full)
		if err != nil {
			w.fail("%s: Cannot read link: %s", name, vfs.Reason(err))
			return
		}
		h.Typeflag, h.Linkname = tar.TypeSymlink, target
	case mode.IsRegular():
		h.Typeflag, h.Size = tar.TypeReg, info.Size()
		if info.Links() > 1 {
			if first, ok := w.links[info.Inode()]; ok {
				h.Typeflag, h.Size, h.Linkname = tar.TypeLink, 0, first
			} else {
				w.links[info.Inode()] = h.Name
			}
		}
	default:
		w.warn("%s: unknown file type; file ignored", name)
		return
	}
	w.store(full, name, h)
}

func (w *tarWriter) store(full, name string, h *tar.Header) {
	var f *vfs.File
	if h.Typeflag == tar.TypeReg {
		var err error
		if f, err = w.FS.Open(full, os.O_RDONLY|vfs.Binary, 0); err != nil {
			w.fail("%s: Cannot open: %s", name, vfs.Reason(err))
			return
		}
		defer f.Close()
	}
	if w.verbose {
		shown := name
		if h.Typeflag == tar.TypeDir {
			shown = strings.TrimSuffix(name, "/") + "/"
		}
		fmt.Fprintln(w.list, shown)
	}
	cli.Check(w.w.WriteHeader(h))
	if f == nil {
		return
	}
	n, err := io.Copy(w.w, io.LimitReader(&contextReader{ctx: w.ctx, r: f}, h.Size))
	cli.Check(err)
	if n < h.Size { // it shrank while we read it
		w.fail("%s: File shrank by %d bytes; padding with zeros", name, h.Size-n)
		_, err = io.CopyN(w.w, zeroReader{}, h.Size-n)
		cli.Check(err)
	}
}

type zeroReader struct{}

func (zeroReader) Read(b []byte) (int, error) { clear(b); return len(b), nil }

// extend adds to the end of an archive that is not packed.
func (t *tarCall) extend() {
	f, err := t.FS.Open(t.Path(t.file), os.O_RDWR|os.O_CREATE|vfs.Binary, 0o666)
	if err != nil {
		cli.Check(t.fatal("%s: Cannot open: %s", t.file, vfs.Reason(err)))
	}
	defer f.Close()
	end, err := tarEnd(f)
	if err != nil {
		cli.Check(t.fatal("This does not look like a tar archive"))
	}
	_, err = f.Seek(end, io.SeekStart)
	cli.Check(cmp.Or(err, f.Truncate(end)))
	w := &tarWriter{tarCall: t, list: t.Stdout}
	if info, err := f.Stat(); err == nil {
		w.self = info.Inode()
	}
	w.members(f, end)
}

// tarEnd finds where the last member of an archive ends.
func tarEnd(f *vfs.File) (int64, error) {
	var n, end int64
	r := tar.NewReader(&cli.CountingReader{R: f, N: &n})
	for {
		h, err := r.Next()
		if err == io.EOF {
			return end, nil
		}
		if err != nil {
			return 0, err
		}
		end = n
		if h.Typeflag == tar.TypeReg {
			end += (h.Size + 511) &^ 511
		}
	}
}
