//go:build unix

package proxyproc

import (
	"os"
	"syscall"
)

// Start runs a program that calls Serve for a listening socket. It does not wait: connections queue at the socket.
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
	go p.Wait() // avoids a zombie if hako is a service
	return sendSettings(w, s)
}
