package vfs

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer
	table := NewTable(strings.NewReader("in"), &out, &out)
	closed := 0
	stream := Descriptor{Name: "x", In: strings.NewReader("data"), Close: closer(func() error { closed++; return nil })}
	for i := range 7 {
		if fd := table.Input(stream); fd != 3+i {
			t.Error("input", fd)
		}
	}
	if a, b, c := table.Add(stream), table.Input(stream), table.Add(stream); a != 10 || b != 11 || c != 12 {
		t.Error(a, b, c)
	}
	b := make([]byte, 10)
	if n, err := table.Read(12, b); string(b[:n]) != "data" || err != nil {
		t.Error(n, err)
	}
	if _, err := table.Read(12, b); err != io.EOF {
		t.Error(err)
	}
	if _, err := table.Write(1, []byte("out")); err != nil || out.String() != "out" {
		t.Error(err)
	}
	must(t, table.Close(12))
	if fd := table.Add(stream); fd != 13 {
		t.Error("a number was used again:", fd)
	}
	_, taken := table.Take(11)
	must(t, taken)
	if closed != 1 {
		t.Error("closed", closed)
	}
	_, unknown := table.Read(99, b)
	_, negative := table.Get(-1)
	_, output := table.Read(1, b)
	_, input := table.Write(0, b)
	for want, err := range map[string]error{
		"fd 12: already closed": table.Close(12), "fd 11: already closed": table.Close(11),
		"fd 99: invalid file descriptor": unknown, "fd -1: invalid file descriptor": negative,
		"fd 1: not open for reading": output, "fd 0: not open for writing": input,
	} {
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if got := table.Open(); !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13}) {
		t.Error(got)
	}
	must(t, table.CloseAll())
	if len(table.Open()) != 0 || closed != 10 {
		t.Error(table.Open(), closed)
	}
}

type closer func() error

func (c closer) Close() error { return c() }
