//go:build unix

package vfs

import (
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hako/internal/testload"
)

func TestSpecialFiles(t *testing.T) {
	_, dir := host(t)
	must(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o666))
	if l, err := net.Listen("unix", filepath.Join(dir, "sock")); err == nil {
		defer l.Close()
	}
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	done := make(chan bool)
	go func() {
		defer close(done)
		for name, want := range map[string]string{"fifo": "it is a named pipe, not a regular file",
			"sock": "it is a socket, not a regular file"} {
			for _, flag := range []int{os.O_RDONLY, os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREATE | os.O_TRUNC} {
				if _, err := v.Open("/w/"+name, flag, 0); err == nil || Reason(err) != want {
					t.Error(name, flag, err)
				}
			}
		}
	}()
	select {
	case <-done:
	case <-time.After(testload.Bound(10 * time.Second)):
		t.Fatal("blocked")
	}
	if err := v.Inject("/f", filepath.Join(dir, "fifo"), false); err == nil {
		t.Error("a pipe was injected")
	}
	d := New(Options{})
	must(t, d.Mount("/d", "/dev", true))
	_, err := d.ReadFile("/d/zero")
	wantReason(t, err, "it is a device, not a regular file")
	wantReason(t, d.WriteFile("/d/null", []byte("x"), 0o666), "it is a device, not a regular file")
}

// Somebody on the host keeps exchanging things inside the mount for others
// while a script reads and writes them.
func TestExchangeRace(t *testing.T) {
	outside, dir := host(t)
	trap := filepath.Join(outside, "trap")
	must(t, os.Mkdir(trap, 0o755))
	must(t, os.WriteFile(filepath.Join(trap, "inner"), []byte(canary), 0o644))
	must(t, os.Symlink("../trap", filepath.Join(dir, "sub.link")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o666))
	at := func(name string) string { return filepath.Join(dir, name) }
	var stop atomic.Bool
	done := make(chan bool)
	go func() {
		defer close(done)
		for !stop.Load() {
			os.Rename(at("sub"), at("sub.dir"))
			os.Rename(at("sub.link"), at("sub"))
			os.Rename(at("sub"), at("sub.link"))
			os.Rename(at("sub.dir"), at("sub"))
			os.Rename(at("file"), at("file.x"))
			os.Rename(at("pipe"), at("file"))
			os.Rename(at("file"), at("pipe"))
			os.Rename(at("file.x"), at("file"))
		}
	}()
	v := New(Options{})
	must(t, v.Mount("/w", dir, true))
	for end := time.Now().Add(testload.Bound(300 * time.Millisecond)); time.Now().Before(end); {
		if b, err := v.ReadFile("/w/sub/inner"); err == nil && string(b) == canary {
			t.Fatal("read the canary")
		}
		v.ReadFile("/w/file")
		v.WriteFile("/w/sub/inner", []byte("written"), 0o666)
		v.WriteFile("/w/file", []byte("written"), 0o666)
		v.ReadDir("/w/sub")
	}
	stop.Store(true)
	<-done
	if onHost(t, trap, "inner") != canary {
		t.Fatal("wrote the canary")
	}
}

// TestListWaitsForNobody has a FIFO take the place of a directory.
func TestListWaitsForNobody(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mkfifo(dir+"/fifo", 0o600); err != nil {
		t.Skip(err)
	}
	r, err := openDirBackend(&env{}, dir)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := r.list("fifo")
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil {
			t.Error("it was listed")
		}
	case <-time.After(testload.Bound(5 * time.Second)):
		t.Fatal("it waits for somebody to write")
	}
}
