package egress

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"hako/run/fault"
)

// Types of TLS records, messages and extensions.
const (
	recordCipherChange = 20
	recordAlert        = 21
	recordHandshake    = 22
	recordData         = 23

	typeClientHello = 1
	serverHello     = 2

	extServerName = 0
	extOldESNI    = 0xffce
	extECH        = 0xfe0d
)

const (
	recordHead = 5
	maxHello   = 32 << 10 // with preceding records
	maxRecord  = 16<<10 + 256
)

// A clientHello is the relevant part of a client's first message.
type clientHello struct {
	name   string // empty means none
	hidden bool   // the true name may be encrypted
}

// A byteReader parses a message.
type byteReader []byte

func (c *byteReader) take(n int) (byteReader, bool) {
	if n < 0 || n > len(*c) {
		return nil, false
	}
	taken := (*c)[:n]
	*c = (*c)[n:]
	return taken, true
}

func (c *byteReader) number(size int) (int, bool) {
	b, ok := c.take(size)
	n := 0
	for _, x := range b {
		n = n<<8 | int(x)
	}
	return n, ok
}

// vector takes bytes that are preceded by their length.
func (c *byteReader) vector(size int) (byteReader, bool) {
	n, ok := c.number(size)
	if !ok {
		return nil, false
	}
	return c.take(n)
}

// parseHello parses the body of a ClientHello strictly: what one parser skips another may take for the name.
func parseHello(message []byte) (clientHello, bool) {
	c := byteReader(message)
	_, ok := c.take(2 + 32)               // version, random
	for _, size := range []int{1, 2, 1} { // session, ciphers, compression
		if ok {
			_, ok = c.vector(size)
		}
	}
	if !ok || len(c) == 0 {
		return clientHello{}, ok
	}
	extensions, ok := c.vector(2)
	if !ok || len(c) > 0 {
		return clientHello{}, false
	}
	return parseExtensions(extensions)
}

func parseExtensions(c byteReader) (clientHello, bool) {
	var h clientHello
	seen := map[int]bool{}
	for len(c) > 0 {
		kind, _ := c.number(2)
		content, ok := c.vector(2)
		if !ok || seen[kind] {
			return clientHello{}, false
		}
		seen[kind] = true
		switch kind {
		case extServerName:
			if h.name, ok = parseServerName(content); !ok {
				return clientHello{}, false
			}
		case extECH, extOldESNI:
			h.hidden = true
		}
	}
	return h, true
}

// parseServerName accepts exactly one name.
func parseServerName(c byteReader) (string, bool) {
	list, ok := c.vector(2)
	if !ok || len(c) > 0 {
		return "", false
	}
	kind, _ := list.number(1)
	name, ok := list.vector(2)
	return string(name), ok && kind == 0 && len(list) == 0 && len(name) > 0
}

// readRecord reads one record with its header.
func readRecord(in io.Reader) ([]byte, error) {
	record := make([]byte, recordHead)
	if got, err := io.ReadFull(in, record); err != nil {
		return record[:got], err
	}
	n := int(binary.BigEndian.Uint16(record[3:]))
	if record[1] != 3 || n == 0 || n > maxRecord {
		return record, errNotTLS
	}
	record = append(record, make([]byte, n)...)
	got, err := io.ReadFull(in, record[recordHead:])
	return record[:recordHead+got], err
}

// readHello reads the first message of a client, which may span records, and returns its raw bytes too. With retry it
// is the second one, which other records may precede.
func readHello(in io.Reader, retry bool) ([]byte, clientHello, error) {
	var raw, message []byte
	for len(raw) <= maxHello {
		record, err := readRecord(in)
		if err != nil {
			return nil, clientHello{}, err
		}
		raw = append(raw, record...)
		if retry && len(message) == 0 && (record[0] == recordCipherChange || record[0] == recordData) {
			continue
		}
		if message = append(message, record[recordHead:]...); record[0] != recordHandshake || message[0] != typeClientHello {
			break
		}
		c := byteReader(message[1:])
		if whole, ok := c.vector(3); ok {
			h, ok := parseHello(whole)
			if !ok || len(c) > 0 {
				break
			}
			return raw, h, nil
		}
	}
	return nil, clientHello{}, errNotTLS
}

// wantsRetry reports whether a server's first message requests another ClientHello, in which a client could name
// another host. It is known once enough of it arrived.
func wantsRetry(message []byte) (retry, known bool) {
	const before = 1 + 3 + 2 // kind, length, version
	if len(message) == 0 {
		return false, false
	}
	if message[0] != serverHello {
		return false, true
	}
	if len(message) < before+sha256.Size {
		return false, false
	}
	special := sha256.Sum256([]byte("HelloRetryRequest"))
	return bytes.Equal(message[before:before+sha256.Size], special[:]), true
}

// errNotTLS refuses a tunnel for another protocol.
var errNotTLS = &fault.Error{Kind: fault.Denied, Op: "connect",
	Why:  "the tunnel carries something other than TLS",
	Hint: "use tunnels for https only"}
