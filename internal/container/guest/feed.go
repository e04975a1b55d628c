package guest

import (
	"os"

	"hako/internal/container/guest/nursery"
)

// tap passes what a command prints on to the client, as fast as it is taken.
func (k *link) tap(r *running, op byte, from *os.File, room *window) *tap {
	words := make([][]byte, 1)
	return &tap{from: from, room: room, pass: func(p []byte) {
		words[0] = p
		k.send(frame{op: op, id: r.id, words: words})
	}}
}

// feed gives a command its input, as fast as it is read.
func (k *link) feed(r *running, p *nursery.Process) {
	taken := 0
	for {
		f, err := r.stdin.take()
		if err != nil || f.op == opStdinEnd {
			p.Stdin.Close()
			return
		}
		n, err := p.Stdin.Write(f.word(0))
		if err != nil { // it does not read; that is its right
			r.stdin.close(err)
			p.Stdin.Close()
			k.send(frame{op: opStdinShut, id: r.id})
			return
		}
		if taken += n; taken >= stdinWindow/4 {
			k.send(frame{op: opStdinTaken, id: r.id, n: uint64(taken)})
			taken = 0
		}
	}
}
