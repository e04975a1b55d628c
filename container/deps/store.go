package deps

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"hako/container/lang"
	"hako/run/fault"
)

// A Store keeps results. Any number of processes may use the same directory.
type Store struct {
	Dir      string // a directory of its own, created if necessary; empty means that nothing is kept
	MaxBytes int64  // of all results; zero means 5 GB; the least recently used are removed first
	MaxOne   int64  // of one result; zero means 2 GB; larger ones are not kept

	// MaxAge is how long a result is valid; after that, unpinned libraries are resolved again. Zero means 30 days.
	MaxAge time.Duration
}

func (s *Store) maxAge() time.Duration { return cmp.Or(s.MaxAge, 30*24*time.Hour) }

func (s *Store) maxBytes() int64 { return cmp.Or(s.MaxBytes, 5<<30) }

func (s *Store) maxOne() int64 { return min(cmp.Or(s.MaxOne, 2<<30), s.maxBytes()) }

const (
	archiveEnding = ".tar"
	partEnding    = ".part" // of an archive in progress
	abandoned     = time.Hour
)

func (s *Store) file(key key) string { return filepath.Join(s.Dir, key.name+archiveEnding) }

// restore restores a kept result, and reports whether it did. It removes unusable results.
func (j *job) restore(ctx context.Context, key key, s lang.Step) (bool, error) {
	if key.none != "" {
		return false, nil
	}
	file := j.store.file(key)
	f, err := os.Open(file)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	size, made, ok := verify(f)
	if age := time.Since(made); !ok || age < 0 || age > j.store.maxAge() {
		j.store.drop(f, file)
		return false, nil
	}
	_ = os.Chtimes(file, time.Time{}, time.Now()) // last use
	j.report(s.Name + ": what was installed before is put back")
	res, _, err := j.run(ctx, j.timeout(s), restoreScript, s.Keep, io.NewSectionReader(f, 0, size), nil)
	if err != nil && (ctx.Err() != nil || fault.KindOf(err) != fault.Exhausted) {
		return false, err
	}
	if err != nil || res.Exit != 0 {
		j.store.drop(f, file)
		_, _, err = j.run(ctx, probeTimeout, tidyScript, nil, nil, nil)
		return false, err
	}
	return true, nil
}

// drop removes an archive, unless it was replaced meanwhile.
func (s *Store) drop(f *os.File, file string) {
	mine, err := f.Stat()
	if err != nil {
		return
	}
	if found, err := os.Stat(file); err == nil && os.SameFile(mine, found) {
		_ = os.Remove(file)
	}
}

// keep packs the result of a step. If that fails, it returns why: the task goes on.
func (j *job) keep(ctx context.Context, key key, s lang.Step) (unkept string, err error) {
	if err := os.MkdirAll(j.store.Dir, 0o700); err != nil {
		return notWritten(err), nil
	}
	f, err := os.CreateTemp(j.store.Dir, key.name+".*"+partEnding)
	if err != nil {
		return notWritten(err), nil
	}
	defer os.Remove(f.Name()) // it was renamed on success
	defer f.Close()
	out := &archive{file: f, left: j.store.maxOne()}
	res, output, err := j.run(ctx, j.timeout(s), keepScript, s.Keep, nil, out)
	switch {
	case out.err != nil && ctx.Err() == nil:
		return j.store.notKept(out.err), nil
	case fault.KindOf(err) == fault.Exhausted && ctx.Err() == nil:
		return err.Error(), nil
	case err != nil:
		return "", err
	case res.Exit == exitNothingToKeep:
		return "it left nothing to keep", nil
	case res.TimedOut || res.Exit != 0:
		return ending("packing it did not work", output), nil
	}
	if err := j.store.add(out, key); err != nil {
		return j.store.notKept(err), nil
	}
	return "", nil
}

// add publishes a finished archive, and makes room for it.
func (s *Store) add(out *archive, key key) error {
	if err := out.seal(); err != nil {
		return err
	}
	if err := os.Rename(out.file.Name(), s.file(key)); err != nil {
		return err
	}
	s.shrink()
	return nil
}

func (s *Store) notKept(err error) string {
	if errors.Is(err, errTooMuch) {
		return fmt.Sprintf("it is larger than %d MB", s.maxOne()>>20)
	}
	return notWritten(err)
}

func notWritten(err error) string { return "it could not be written: " + err.Error() }

// An archive is a tar file followed by a seal, which reveals damage before anything is unpacked.
type archive struct {
	file *os.File
	left int64
	size int64
	sum  uint32
	err  error
}

const (
	sealMagic = "hakodeps"
	sealSize  = int64(len(sealMagic) + 8 + 8 + 4) // then time, size and checksum
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

func (a *archive) Write(p []byte) (int, error) {
	if int64(len(p)) > a.left {
		a.err = errTooMuch
		return 0, a.err
	}
	n, err := a.file.Write(p)
	a.left, a.size, a.sum = a.left-int64(n), a.size+int64(n), crc32.Update(a.sum, castagnoli(), p[:n])
	if err != nil {
		a.err = err
	}
	return n, err
}

func (a *archive) seal() error {
	text := binary.BigEndian.AppendUint64([]byte(sealMagic), uint64(time.Now().UnixMilli()))
	text = binary.BigEndian.AppendUint64(text, uint64(a.size))
	_, err := a.file.WriteAt(binary.BigEndian.AppendUint32(text, a.sum), a.size)
	if closing := a.file.Close(); err == nil {
		err = closing
	}
	return err
}

// verify returns the size and time of the tar file in an archive, and whether it is intact.
func verify(f *os.File) (size int64, made time.Time, ok bool) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() < sealSize {
		return 0, made, false
	}
	size = info.Size() - sealSize
	seal := make([]byte, sealSize)
	if _, err := f.ReadAt(seal, size); err != nil || string(seal[:len(sealMagic)]) != sealMagic {
		return 0, made, false
	}
	sum := crc32.New(castagnoli())
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, size)); err != nil {
		return 0, made, false
	}
	seal = seal[len(sealMagic):]
	made = time.UnixMilli(int64(binary.BigEndian.Uint64(seal)))
	return size, made, binary.BigEndian.Uint64(seal[8:]) == uint64(size) &&
		binary.BigEndian.Uint32(seal[16:]) == sum.Sum32()
}

// shrink removes the least recently used archives until the rest is small enough, and files of killed processes.
func (s *Store) shrink() {
	entries, _ := os.ReadDir(s.Dir)
	var kept []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
		case strings.HasSuffix(e.Name(), archiveEnding):
			kept, total = append(kept, info), total+info.Size()
		case strings.HasSuffix(e.Name(), partEnding) && time.Since(info.ModTime()) > abandoned:
			_ = os.Remove(filepath.Join(s.Dir, e.Name()))
		}
	}
	slices.SortFunc(kept, func(a, b fs.FileInfo) int { return a.ModTime().Compare(b.ModTime()) })
	for _, info := range kept {
		if total <= s.maxBytes() {
			return
		}
		if os.Remove(filepath.Join(s.Dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}
