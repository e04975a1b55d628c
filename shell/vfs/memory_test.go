package vfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"strings"
	"sync"
	"testing"

	"hako/quota"
	"hako/run/fault"
)

// TestContents does the same by chance to a memory file and a plain slice.
func TestContents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	g := quota.NewLimiter(quota.Lenient())
	v := New(Options{Limiter: g})
	f, err := v.Open("/box/f", os.O_RDWR|os.O_CREATE, 0o666)
	must(t, err)
	var want []byte
	grow := func(n int) {
		if n > len(want) {
			want = append(want, make([]byte, n-len(want))...)
		}
	}
	var forks []*FS
	for i := range 400 {
		off, p := r.IntN(3*blockSize), make([]byte, r.IntN(blockSize*3/2))
		for j := range p {
			p[j] = byte(i + j)
		}
		switch r.IntN(5) {
		case 0:
			must(t, f.Truncate(int64(off)))
			grow(off)
			want = want[:off:off]
		case 1:
			if len(forks) < 5 {
				forks = append(forks, v.Fork())
			}
		default:
			_, err := f.Seek(int64(off), io.SeekStart)
			must(t, err)
			n, err := f.Write(p)
			must(t, err)
			if len(p) > 0 {
				grow(off + n)
			}
			copy(want[min(off, len(want)):], p)
		}
		got := make([]byte, len(want))
		if _, err := f.ReadAt(got, 0); err != nil && err != io.EOF || !bytes.Equal(got, want) ||
			f.Size() != int64(len(want)) {
			t.Fatalf("step %d: contents differ: %v", i, err)
		}
	}
	must(t, f.Close())
	must(t, v.Remove("/box/f"))
	for _, f := range forks {
		f.Close()
	}
	if g.Held() != 0 {
		t.Error("still held:", g.Held())
	}
}

func TestHolesAreFree(t *testing.T) {
	l := quota.Lenient()
	l.Memory, l.FileSize = 1<<20, 1<<30
	g := quota.NewLimiter(l)
	v := New(Options{Limiter: g})
	f, err := v.Open("/box/f", os.O_RDWR|os.O_CREATE, 0o666)
	must(t, err)
	_, err = f.Seek(500<<20, io.SeekStart)
	must(t, err)
	_, err = f.Write([]byte("x"))
	must(t, err)
	if g.Held() > 300<<10 || f.Size() != 500<<20+1 {
		t.Error(g.Held(), f.Size())
	}
	p := []byte("zzzz")
	if _, err := f.ReadAt(p, 300<<20); err != nil || string(p) != "\x00\x00\x00\x00" {
		t.Error(p, err)
	}
	_, err = f.Seek(1<<62, io.SeekStart)
	must(t, err)
	_, err = f.Write([]byte("x"))
	if fault.KindOf(err) != fault.TooLarge {
		t.Error(err)
	}
	if fault.KindOf(f.Truncate(1<<40)) != fault.TooLarge {
		t.Error("truncated to a terabyte")
	}
}

func TestMemoryLimit(t *testing.T) {
	l := quota.Lenient()
	l.Memory = 4 << 20
	g := quota.NewLimiter(l)
	v := New(Options{Limiter: g})
	f, err := v.Open("/box/f", os.O_RDWR|os.O_CREATE, 0o666)
	must(t, err)
	p := make([]byte, 100_000)
	for err == nil {
		_, err = f.Write(p)
	}
	if fault.KindOf(err) != fault.Exhausted && fault.KindOf(err) != fault.TooLarge || f.Size() < 3<<20 {
		t.Error(err, f.Size())
	}
	if strings.Contains(Reason(err), "No such file") {
		t.Error("a limit must name itself:", err)
	}
}

func TestFileCount(t *testing.T) {
	l := quota.Lenient()
	l.Files = 10
	g := quota.NewLimiter(l)
	v := New(Options{Limiter: g})
	for round := range 3 {
		var err error
		n := 0
		for ; err == nil && n < 100; n++ {
			_, stop := g.Start(t.Context())
			name := fmt.Sprintf("/box/%d", n)
			err = []func() error{
				func() error { return v.Mkdir(name, 0o777) },
				func() error { return v.Symlink("x", name) },
				func() error { return v.WriteFile(name, []byte("x"), 0o666) },
			}[n%3]()
			stop()
		}
		if n != 11 || fault.KindOf(err) != fault.Exhausted {
			t.Error(round, n, err)
		}
		for _, name := range entryNames(t, v, "/box") {
			must(t, v.Remove("/box/"+name))
		}
	}
	if g.Held() != 0 {
		t.Error(g.Held())
	}
}

func entryNames(t *testing.T, v *FS, dir string) (names []string) {
	entries, err := v.ReadDir(dir)
	must(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestTrippedLimiterStopsFiles(t *testing.T) {
	g := quota.NewLimiter(quota.Lenient())
	v := New(Options{Limiter: g})
	put(t, v, "/box/f", "x")
	f, err := v.Open("/box/f", os.O_RDWR, 0)
	must(t, err)
	zero, err := v.Open("/dev/zero", os.O_RDONLY, 0)
	must(t, err)
	tripped := g.Depth(1 << 30)
	for _, f := range []*File{f, zero} {
		if _, err := f.Read(make([]byte, 1)); !errors.Is(err, tripped) {
			t.Error(err)
		}
	}
	if _, err := v.ReadFile("/box/f"); !errors.Is(err, tripped) {
		t.Error(err)
	}
}

func TestDeepNames(t *testing.T) {
	v := New(Options{})
	deep := "/box" + strings.Repeat("/d", 2000)
	must(t, v.MkdirAll(deep, 0o777))
	put(t, v, deep+"/f", "deep")
	must(t, v.Symlink(deep, "/box/l"))
	if read(t, v, deep+"/f") != "deep" || read(t, v, "/box/l/f") != "deep" {
		t.Error("lost")
	}
	must(t, v.RemoveAll("/box/d"))
}

// TestAtOnce is for the race detector: stages of a pipeline use one tree.
func TestAtOnce(t *testing.T) {
	_, dir := host(t)
	g := quota.NewLimiter(quota.Lenient())
	v := New(Options{Limiter: g})
	must(t, v.Mount("/w", dir, true))
	v.Watch(func(string, string, int64) {})
	shared, err := v.Open("/box/shared", os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o666)
	must(t, err)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			own := fmt.Sprintf("/box/d%d", i)
			for j := range 50 {
				shared.Write([]byte("0123456789abcdef"))
				v.MkdirAll(own+"/x", 0o777)
				v.WriteFile(path.Join(own, "f"), make([]byte, j*1000), 0o666)
				v.ReadFile(path.Join(fmt.Sprintf("/box/d%d", (i+1)%8), "f"))
				v.Rename(own+"/f", "/box/common")
				v.ReadFile("/box/common")
				v.WriteFile(fmt.Sprintf("/w/f%d", j%3), []byte("x"), 0o666)
				v.ReadFile("/w/file")
				v.ReadDir("/box")
				v.Link("/box/common", own+"/hard")
				v.Chmod("/box/common", 0o600)
				v.ListFiles()
				if j%10 == 0 {
					fork := v.Fork()
					fork.WriteFile("/box/common", []byte("fork"), 0o666)
					Diff(v, fork)
					fork.Close()
				}
				v.RemoveAll(own)
			}
		})
	}
	all.Wait()
	if shared.Size() != 8*50*16 {
		t.Error("appends were lost:", shared.Size())
	}
	must(t, shared.Close())
	must(t, v.RemoveAll("/box"))
	if g.Held() != 0 {
		t.Error("still held:", g.Held())
	}
}

func BenchmarkOpenMemory(b *testing.B) {
	v := New(Options{})
	v.WriteFile("/box/f", []byte("x"), 0o666)
	b.ReportAllocs()
	for b.Loop() {
		f, _ := v.Open("/box/f", os.O_RDONLY, 0)
		f.Close()
	}
}

func BenchmarkWriteMemory(b *testing.B) {
	p := make([]byte, 128<<10)
	b.SetBytes(100 << 20)
	for b.Loop() {
		v := New(Options{Limiter: quota.NewLimiter(quota.Lenient())})
		f, _ := v.Open("/box/f", os.O_WRONLY|os.O_CREATE, 0o666)
		for range 800 {
			f.Write(p)
		}
	}
}

func BenchmarkReadReal(b *testing.B) {
	_, dir := host(b)
	os.WriteFile(dir+"/big", make([]byte, 100<<20), 0o644)
	v := New(Options{Limiter: quota.NewLimiter(quota.Lenient())})
	v.Mount("/w", dir, false)
	p := make([]byte, 128<<10)
	b.SetBytes(100 << 20)
	b.ReportAllocs()
	for b.Loop() {
		f, _ := v.Open("/w/big", os.O_RDONLY, 0)
		for {
			if _, err := f.Read(p); err != nil {
				break
			}
		}
		f.Close()
	}
}
