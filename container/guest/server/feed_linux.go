package server

import (
	"os"

	"hako/container/guest/procgroup"
	"hako/container/guest/wire"
)

// pump sends the output of a command to the client, as fast as it is read.
func (k *clientConn) pump(r *foregroundCommand, op byte, from *os.File, room *wire.Window) *outputPump {
	words := make([][]byte, 1)
	return &outputPump{from: from, room: room, large: k.s.exec.large, pass: func(p []byte) {
		words[0] = p
		k.send(wire.Frame{Op: op, ID: r.id, Words: words})
	}}
}

// feed writes the input of a command, as fast as it is read.
func (k *clientConn) feed(r *foregroundCommand, p *procgroup.Process) {
	taken := 0
	for {
		f, err := r.stdin.Take()
		if err != nil || f.Op == wire.OpStdinEnd {
			p.Stdin.Close()
			return
		}
		n, err := p.Stdin.Write(f.Word(0))
		if err != nil { // the command does not read
			r.stdin.Close(err)
			p.Stdin.Close()
			k.send(wire.Frame{Op: wire.OpStdinShut, ID: r.id})
			return
		}
		if taken += n; taken >= wire.StdinWindow/4 {
			k.send(wire.Frame{Op: wire.OpStdinTaken, ID: r.id, N: uint64(taken)})
			taken = 0
		}
	}
}
