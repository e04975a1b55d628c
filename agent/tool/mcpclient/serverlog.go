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
	maxLines    = 1000     // of one server that are passed on
	maxLine     = 2 << 10  // bytes of one
	maxRead     = 64 << 10 // bytes of one that are looked at
	maxKeyLines = 300      // lines of a private key
)

// A serverLog logs what a server writes.
type serverLog struct {
	server  string
	log     func(server, line string)
	turn    *sync.Mutex // of log, shared by all servers
	secrets *redact.Set

	mu    sync.Mutex // guards what follows
	lines int
	key   int    // lines of a private key that are still dropped
	last  string // the last line of standard error
	junk  string // the last line of output that was no message
}

// follow logs a stream line by line.
func (n *serverLog) follow(r io.Reader) {
	lines := bufio.NewReaderSize(r, maxRead)
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

// odd logs a line of output that is no message.
func (n *serverLog) odd(line []byte) {
	text := n.clean(line[:min(len(line), maxRead)])
	if text == "" {
		return
	}
	n.mu.Lock()
	n.junk = text
	n.mu.Unlock()
	n.add("not a message: " + text)
}

// clean makes a line safe to show. Secrets go first: half of one is not recognized.
func (n *serverLog) clean(line []byte) string {
	s := string(line)
	if n.inKey(s) {
		return ""
	}
	return text.Line(n.secrets.Text(text.Visible(s)), maxLine)
}

// inKey reports whether a line is within a private key, of which a single line is not recognized.
func (n *serverLog) inKey(line string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	was := n.key > 0
	n.key = max(0, n.key-1)
	switch {
	case strings.Contains(line, "-----END"):
		n.key = 0
	case strings.Contains(line, "-----BEGIN") && strings.Contains(line, "PRIVATE KEY"):
		n.key = maxKeyLines
	}
	return was || n.key > 0
}

// add logs a clean line, up to the limit.
func (n *serverLog) add(line string) {
	n.mu.Lock()
	n.lines++
	lines := n.lines
	n.mu.Unlock()
	if n.log == nil || lines > maxLines {
		return
	}
	n.turn.Lock()
	defer n.turn.Unlock()
	n.log(n.server, line)
	if lines == maxLines {
		n.log(n.server, "… what else it writes is left out")
	}
}

// lastStderr returns the last line of standard error.
func (n *serverLog) lastStderr() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.last
}

// nonMessage returns the last line of output that was no message.
func (n *serverLog) nonMessage() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.junk
}

// message reports whether a line is a message of JSON-RPC.
func message(line []byte) bool {
	var m struct {
		Version string `json:"jsonrpc"`
	}
	return json.Unmarshal(line, &m) == nil && m.Version == "2.0"
}
