//go:build unix

package proxyproc

import (
	"os"
	"syscall"
)

// Start has another process serve a socket that already listens. It does not wait for it: who connects until then
// waits in the queue of the socket. The words are those by which the program calls Serve.
func Start(program string, words []string, s Settings, listener *os.File) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		w.Close()
		return err
	}
	defer null.Close()
	p, err := os.StartProcess(program, words, &os.ProcAttr{
		Dir: "/", Env: environ(os.Environ()), Files: []*os.File{null, null, null, listener, r},
		Sys: &syscall.SysProcAttr{Setsid: true}, // it outlives the terminal
	})
	if err != nil {
		w.Close()
		return err
	}
	go p.Wait() // or it stays a zombie where hako is a service
	return sendSettings(w, s)
}
