package wire

import (
	"encoding/json"
	"fmt"

	"hako/run/fault"
)

// Version is the version of the protocol. Both sides must have the same: hako mounts its own binary into the
// containers it makes.
const Version = 3

// magic is the first word of a handshake.
const magic = "hako guest"

// A Handshake is the first message of each side.
type Handshake struct {
	Version int `json:"version"`
}

func (h Handshake) Frame() Frame {
	return Frame{Op: OpHello, Words: [][]byte{[]byte(magic), JSON(h)}}
}

// ReadHandshake decodes a handshake and refuses other protocols and versions.
func ReadHandshake(f Frame) (Handshake, error) {
	var h Handshake
	if f.Op == OpError {
		return h, FaultFrom(f.Word(0))
	}
	if f.Op != OpHello || string(f.Word(0)) != magic || json.Unmarshal(f.Word(1), &h) != nil {
		return h, &fault.Error{Kind: fault.Invalid, Op: "greet", Why: "the peer does not speak the protocol of hako",
			Hint: "the socket may belong to another program"}
	}
	if h.Version != Version {
		return h, &fault.Error{Kind: fault.Invalid, Op: "greet",
			Why:  fmt.Sprintf("the other side speaks version %d, this is version %d", h.Version, Version),
			Hint: "the container was started by another hako: end it with hako env down and start it again with hako env up"}
	}
	return h, nil
}

// wireFault is a fault as it is sent.
type wireFault struct {
	Kind    string `json:"kind"`
	Op      string `json:"op"`
	Subject string `json:"subject,omitempty"`
	Why     string `json:"why,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

// ErrorFrame encodes an error.
func ErrorFrame(id uint64, err error) Frame {
	w := wireFault{Kind: fault.KindOf(err).String(), Op: "ask guest", Why: err.Error(), Hint: fault.Hint(err)}
	if e, ok := err.(*fault.Error); ok {
		w.Op, w.Subject, w.Why = e.Op, e.Subject, e.Why
		if e.Err != nil {
			w.Why = join(e.Why, e.Err.Error())
		}
	}
	return Frame{Op: OpError, ID: id, Words: [][]byte{JSON(w)}}
}

func join(why, cause string) string {
	if why == "" {
		return cause
	}
	return why + ": " + cause
}

// FaultFrom decodes an error.
func FaultFrom(text []byte) error {
	var w wireFault
	if json.Unmarshal(text, &w) != nil || w.Op == "" {
		return &fault.Error{Kind: fault.Invalid, Op: "ask guest", Why: "its error message is invalid"}
	}
	return &fault.Error{Kind: kindNamed(w.Kind), Op: w.Op, Subject: w.Subject, Why: w.Why, Hint: w.Hint}
}

func kindNamed(name string) fault.Kind {
	for k := fault.Other; k <= fault.Unavailable; k++ {
		if k.String() == name {
			return k
		}
	}
	return fault.Other
}
