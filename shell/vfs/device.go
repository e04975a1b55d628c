package vfs

import (
	crand "crypto/rand"
	"encoding/binary"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
)

// A device makes up what is read from it and forgets what is written to it.
type device interface {
	read(p []byte) (int, error)
	write(p []byte) (int, error)
}

type (
	nullDevice   struct{}
	zeroDevice   struct{}
	fullDevice   struct{ zeroDevice }
	randomDevice struct {
		nullDevice
		chance *chance
	}
)

func (nullDevice) read([]byte) (int, error)    { return 0, nil }
func (nullDevice) write(p []byte) (int, error) { return len(p), nil }

func (zeroDevice) read(p []byte) (int, error)  { clear(p); return len(p), nil }
func (zeroDevice) write(p []byte) (int, error) { return len(p), nil }

func (fullDevice) write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	return 0, errNoSpace
}

func (d randomDevice) read(p []byte) (int, error) { return d.chance.read(p) }

// chance is where random bytes come from: the host, or a seed.
type chance struct {
	mu     sync.Mutex
	seeded *rand.ChaCha8 // nil: the host
}

func newChance(seed uint64) *chance {
	if seed == 0 {
		return &chance{}
	}
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	return &chance{seeded: rand.NewChaCha8(key)}
}

func (c *chance) read(p []byte) (int, error) {
	if c.seeded == nil {
		return crand.Read(p)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seeded.Read(p)
}

// fork returns a source that goes on as c would.
func (c *chance) fork() *chance {
	if c.seeded == nil {
		return &chance{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	next := *c.seeded
	return &chance{seeded: &next}
}

// devices puts the devices into the tree.
func (m *memory) devices() {
	dev := m.newNode(fs.ModeDir, 0o755)
	dev.fixed = true
	random := randomDevice{chance: m.chance}
	for _, d := range []struct {
		name string
		device
	}{{"full", fullDevice{}}, {"null", nullDevice{}}, {"random", random}, {"urandom", random}, {"zero", zeroDevice{}}} {
		n := m.newNode(fs.ModeDevice|fs.ModeCharDevice, 0o666)
		n.dev, n.fixed = d.device, true
		m.attach(dev, d.name, n)
	}
	m.attach(m.root, "dev", dev)
}

// deviceHandle is an open device.
type deviceHandle struct {
	device
	stat Info
}

func (h *deviceHandle) Read(p []byte) (int, error) {
	n, err := h.read(p)
	if n == 0 && len(p) > 0 && err == nil {
		err = io.EOF
	}
	return n, err
}
func (h *deviceHandle) Write(p []byte) (int, error)           { return h.write(p) }
func (h *deviceHandle) ReadAt(p []byte, _ int64) (int, error) { return h.Read(p) }
func (h *deviceHandle) Seek(off int64, _ int) (int64, error)  { return 0, nil }
func (h *deviceHandle) Truncate(int64) error                  { return ErrInvalid }
func (h *deviceHandle) Close() error                          { return nil }
func (h *deviceHandle) info() (Info, error)                   { return h.stat, nil }
