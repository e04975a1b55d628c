//go:build !unix

package worker

import (
	"encoding/json"
	"io"
)

// startChild serves in this same process: it cannot hand a socket to another.
// The limits of package quota are the only ones here.
func startChild(assemble func(json.RawMessage) (Parts, error)) (io.ReadWriteCloser, child, error) {
	stream, c := startLocal(assemble)
	return stream, c, nil
}

func inherited() io.ReadWriteCloser { return nil }

func limitMemory(int64) error { return nil }
