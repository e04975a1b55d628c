package egress

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"golang.org/x/crypto/cryptobyte"

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

// parseHello parses the body of a ClientHello strictly: what one parser skips another may take for the name.
func parseHello(message cryptobyte.String) (clientHello, bool) {
	var skipped, extensions cryptobyte.String // session, ciphers, compression
	if !message.Skip(2+32) || !message.ReadUint8LengthPrefixed(&skipped) || !message.ReadUint16LengthPrefixed(&skipped) ||
		!message.ReadUint8LengthPrefixed(&skipped) {
		return clientHello{}, false
	}
	if message.Empty() {
		return clientHello{}, true
	}
	if !message.ReadUint16LengthPrefixed(&extensions) || !message.Empty() {
		return clientHello{}, false
	}
	return parseExtensions(extensions)
}

func parseExtensions(list cryptobyte.String) (h clientHello, ok bool) {
	seen := map[uint16]bool{}
	for !list.Empty() {
		var kind uint16
		var content cryptobyte.String
		if !list.ReadUint16(&kind) || !list.ReadUint16LengthPrefixed(&content) || seen[kind] {
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
func parseServerName(content cryptobyte.String) (string, bool) {
	var list, name cryptobyte.String
	var kind uint8
	ok := content.ReadUint16LengthPrefixed(&list) && content.Empty() && list.ReadUint8(&kind) &&
		list.ReadUint16LengthPrefixed(&name) && list.Empty()
	return string(name), ok && kind == 0 && len(name) > 0
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
		rest := cryptobyte.String(message[1:])
		var whole cryptobyte.String
		if rest.ReadUint24LengthPrefixed(&whole) {
			h, ok := parseHello(whole)
			if !ok || !rest.Empty() {
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
