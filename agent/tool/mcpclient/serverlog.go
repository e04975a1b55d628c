package mcpclient

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"sync"

	"hako/internal/redact"
	"hako/internal/text"
)

const (
	mostLines = 1000     // of one server that are passed on
	mostLine  = 2 << 10  // bytes of one
	mostRead  = 64 << 10 // bytes of one that are looked at
	mostKey   = 300      // lines of a private key
)

// serverLog are what is written down about a server.
type serverLog struct {
	server  string
	log     func(server, line string)
	turn    *sync.Mutex // of log, shared by all servers
	secrets *redact.Set

	mu    sync.Mutex // guards what follows
	lines int
	key   int    // lines of a private key that are still dropped
	last  string // the last line of standard error
	greet string // the last line of output that was no message
}

// follow writes a stream down, line by line.
func (n *serverLog) follow(r io.Reader) {
	lines := bufio.NewReaderSize(r, mostRead)
	for {
		line, err := lines.ReadSlice('\n')
		if text := n.clean(line); text != "" {
			n.mu.Lock()
			n.last = text
			n.mu.Unlock()
			n.add(text)
		}
		for err == bufio.ErrBufferFull { // the rest of a line without end
			_, err = lines.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// odd notes a line of output that is no message.
func (n *serverLog) odd(line []byte) {
	text := n.clean(line[:min(len(line), mostRead)])
	if text == "" {
		return
	}
	n.mu.Lock()
	n.greet = text
	n.mu.Unlock()
	n.add("not a message: " + text)
}

// clean makes a line fit to be shown. Secrets go first: half of one is not known as one.
func (n *serverLog) clean(line []byte) string {
	s := string(line)
	if n.inKey(s) {
		return ""
	}
	return text.Line(n.secrets.Text(text.Visible(s)), mostLine)
}

// inKey reports whether a line is within a private key. Alone it looks like nothing.
func (n *serverLog) inKey(line string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.key > 0
	n.key = max(0, n.key-1)
	switch {
	case strings.Contains(line, "-----END"):
		n.key = 0
	case strings.Contains(line, "-----BEGIN") && strings.Contains(line, "PRIVATE KEY"):
		n.key = mostKey
	}
	return was || n.key > 0
}

// add passes a clean line on, if there were not too many.
func (n *serverLog) add(line string) {
	n.mu.Lock()
	n.lines++
	lines := n.lines
	n.mu.Unlock()
	if n.log == nil || lines > mostLines {
		return
	}
	n.turn.Lock()
	defer n.turn.Unlock()
	n.log(n.server, line)
	if lines == mostLines {
		n.log(n.server, "… what else it writes is left out")
	}
}

// lastWords returns the last that a server wrote on standard error.
func (n *serverLog) lastWords() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// greeting returns the last that a server wrote instead of a message.
func (n *serverLog) greeting() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.greet
}

// message reports whether a line is a message of JSON-RPC.
func message(line []byte) bool {
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(line, &m) == nil && m.Version == "2.0"
}
