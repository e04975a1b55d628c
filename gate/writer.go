package gate

import (
	"io"
	"reflect"
	"sync"

	"hako/quota"
	"hako/run"
)

// meter wraps the two streams of a request. Where both are the same writer, they
// stay so: their lines must not overtake each other.
func (p *gateRun) meter(stdout, stderr io.Writer) (io.Writer, io.Writer) {
	out := &chargedWriter{run: p, to: stdout}
	if same(stdout, stderr) {
		return out, out
	}
	return out, &chargedWriter{run: p, to: stderr}
}

func same(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.ValueOf(a).Comparable() && reflect.ValueOf(b).Comparable() && a == b
}

// A chargedWriter writer charges what a script writes. The write that goes over fails
// and stops the script: a failed write alone would only stop one command.
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
