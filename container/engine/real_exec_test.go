package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func TestExecKeepsStreamsAndStatusApart(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{Env: []string{"A=1"}, Tmpfs: map[string]string{"/tmp": ""}})
	for script, want := range map[string]string{
		"echo out; echo err >&2; exit 7": "7 out\n err\n",
		"true":                           "0  ",
		"kill -9 $$":                     "137  ",
		"echo $A$B; pwd; busybox id -u":  "0 12\n/tmp\n1000\n ",
		"busybox cat; printf end >&2":    "0 input end",
	} {
		var out, err bytes.Buffer
		exit, wrong := e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/sh", "-c", script}, Env: []string{"B=2"},
			Dir: "/tmp", User: "1000:1000", Stdin: strings.NewReader("input"), Stdout: &out, Stderr: &err})
		if got := fmt.Sprint(exit, " ", out.String(), " ", err.String()); got != want || wrong != nil {
			t.Errorf("%s: %q, %v; want %q", script, got, wrong, want)
		}
	}
	if exit, err := e.Exec(t.Context(), id, Exec{Argv: []string{"/no/such/program"}}); err == nil && exit != 126 &&
		exit != 127 {
		t.Errorf("a program that is not there: %d, %v", exit, err)
	}
}

func TestExecOfTenMegabytesBothWays(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{})
	in := make([]byte, 10<<20)
	rand.Read(in)
	var out, sum bytes.Buffer
	exit, err := e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/busybox", "cat"}, Stdin: bytes.NewReader(in),
		Stdout: &out, Stderr: &sum})
	if exit != 0 || err != nil || !bytes.Equal(in, out.Bytes()) || sum.Len() > 0 {
		t.Errorf("exit %d, %v: %d bytes of %d, %q", exit, err, out.Len(), len(in), sum.String())
	}
}

func TestExecThatLeavesItsInputUnread(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{})
	for range 5 {
		var out bytes.Buffer
		endless := readerFunc(func(p []byte) (int, error) { return len(p), nil })
		exit, err := e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/sh", "-c", "echo enough; exit 3"}, Stdin: endless,
			Stdout: &out})
		if exit != 3 || err != nil || out.String() != "enough\n" {
			t.Errorf("exit %d, %v, %q", exit, err, out.String())
		}
	}
}

func TestExecWhatDoesNotRun(t *testing.T) {
	e := docker(t)
	id := create(t, e, Spec{})
	if _, err := e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/sh"}}); !errors.Is(err, errStopped) {
		t.Errorf("a container that does not run: %v", err)
	}
	if _, err := e.Exec(t.Context(), named(t, "-none"), Exec{Argv: []string{"/bin/sh"}}); !errors.Is(err, ErrGone) {
		t.Errorf("a container that is not there: %v", err)
	}
}

func TestExecInAContainerThatDies(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{})
	said := make(chan struct{})
	go func() {
		<-said
		e.Remove(context.Background(), id)
	}()
	exit, err := e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/sh", "-c", "echo on; exec sleep 600"},
		Stdout: signal(said)})
	if err == nil && exit != 137 || err != nil && !errors.Is(err, ErrGone) {
		t.Errorf("exit %d, %v", exit, err)
	}
}

// signal closes a channel at the first write.
func signal(c chan struct{}) io.Writer {
	return writerFunc(func(p []byte) (int, error) { close(c); return len(p), nil })
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestExecIsGivenUp(t *testing.T) {
	e := docker(t)
	id := started(t, e, Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := e.Exec(ctx, id, Exec{Argv: []string{"/bin/sh", "-c", "echo on; exec sleep 600"},
		Stdout: writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
	full := errors.New("full")
	_, err = e.Exec(t.Context(), id, Exec{Argv: []string{"/bin/sh", "-c", "echo on; exec sleep 600"},
		Stdout: writerFunc(func([]byte) (int, error) { return 0, full })})
	if err != full {
		t.Errorf("nobody takes the output: %v", err)
	}
}
