package descriptors

import (
	"context"
	"io"
	"strings"
	"testing"

	"hako/quota"
	"hako/run"
	"hako/shell/vfs"
)

const benchSize = 100 << 20

func benchInput() io.Reader {
	return io.LimitReader(&endless{line: []byte(strings.Repeat("2025-08-14 12:00:00 INFO a line of a log with an x\n",
		1000))}, benchSize)
}

// BenchmarkShell is what the shell needs by itself.
func BenchmarkShell(b *testing.B) {
	for b.Loop() {
		s := sessionWith(vfs.New(vfs.Options{}), quota.NewLimiter(quota.Lenient()))
		res, err := s.Run(context.Background(), &run.Request{Script: "grep -c x", Stdin: benchInput()})
		if err != nil || res.Exit != 0 {
			b.Fatal(res, err)
		}
	}
	b.SetBytes(benchSize)
}

// BenchmarkSpawn connects an input to the output by a script.
func BenchmarkSpawn(b *testing.B) {
	for b.Loop() {
		x := newBox(b, Options{Stdin: Input{Reader: benchInput(), Size: -1}})
		x.call("spawn", `{"script":"grep -c x","stdin_fd":0,"stdout_fd":1}`)
		x.call("exit", `{"code":0}`)
		_ = x.Close()
	}
	b.SetBytes(benchSize)
}

// BenchmarkChain sends it through a pipe as well.
func BenchmarkChain(b *testing.B) {
	for b.Loop() {
		x := newBox(b, Options{Stdin: Input{Reader: benchInput(), Size: -1}})
		x.call("spawn", `{"script":"cat","stdin_fd":0}`)
		x.call("spawn", `{"script":"grep -c x","stdin_fd":10,"stdout_fd":1}`)
		x.call("exit", `{"code":0}`)
		_ = x.Close()
	}
	b.SetBytes(benchSize)
}

// BenchmarkShellChain is the same inside of one script.
func BenchmarkShellChain(b *testing.B) {
	for b.Loop() {
		s := sessionWith(vfs.New(vfs.Options{}), quota.NewLimiter(quota.Lenient()))
		if _, err := s.Run(context.Background(), &run.Request{Script: "cat | grep -c x", Stdin: benchInput()}); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(benchSize)
}
