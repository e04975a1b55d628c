package mcpserver

import (
	"io"
	"strings"
)

// What an older client says first.
const (
	oldHello   = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	oldReady   = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	oldCommand = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"command-executor_execute_command","arguments":{"command":"x"}}}`
)

// lines is an input that gives some lines and then no end.
type lines struct {
	io.ReadCloser
	other *io.PipeWriter
}

func newLines(all ...string) lines {
	r, w := io.Pipe()
	go io.Copy(w, strings.NewReader(strings.Join(all, "\n")+"\n"))
	return lines{r, w}
}

// hangUp is an end after all.
func (l lines) hangUp() { l.other.Close() }

// quiet is an output nobody looks at.
type quiet struct{}

func (*quiet) Write(p []byte) (int, error) { return len(p), nil }
