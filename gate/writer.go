package gate

import (
	"io"
	"reflect"
	"sync"

	"hako/quota"
	"hako/run"
)

// chargeStreams wraps the output streams of a request. If both are the same writer, they stay the same, so that
// lines keep their order.
func (p *gateRun) chargeStreams(stdout, stderr io.Writer) (io.Writer, io.Writer) {
	out := &chargedWriter{run: p, to: stdout}
	if sameWriter(stdout, stderr) {
		return out, out
	}
	return out, &chargedWriter{run: p, to: stderr}
}

func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// A chargedWriter charges what a script writes. A write that exceeds the budget fails and stops the script: a
// failed write alone would only stop one command.
type chargedWriter struct {
	run *gateRun

	mu sync.Mutex
	to io.Writer // nil means discard
}

// Write implements [io.Writer].
func (m *chargedWriter) Write(b []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.run
	if err := p.stopped(); err != nil {
		return 0, err
	}
	if on, ok := m.to.(run.Passing); !ok || !on.Passing() {
		if err := p.gate.opts.Budget.Charge(quota.Usage{Written: int64(len(b))}); err != nil {
			return 0, p.stop(err)
		}
	}
	p.written.Add(int64(len(b)))
	if m.to == nil {
		return len(b), nil
	}
	return m.to.Write(b)
}
