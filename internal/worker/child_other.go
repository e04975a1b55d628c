//go:build !unix

package worker

import (
	"encoding/json"
	"io"
)

// startChild serves in this process, which cannot pass a socket to another. Only the limits of package quota apply.
func startChild(assemble func(json.RawMessage) (Parts, error)) (io.ReadWriteCloser, child, error) {
	stream, c := startLocal(assemble)
	return stream, c, nil
}

func inherited() io.ReadWriteCloser { return nil }

func limitMemory(int64) error { return nil }
