package joblog

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpool compares the ring with a slice.
func TestSpool(t *testing.T) {
	s := &Log{Dir: t.TempDir(), Limit: 100}
	defer s.Drop()
	var all []byte
	for i := range 300 {
		piece := []byte(strings.Repeat(fmt.Sprint(i%10), i*7%130))
		s.Write(piece)
		all = append(all, piece...)
		p, err := s.Page(0, 1000, false)
		if want := all[max(len(all)-100, 0):]; err != nil || !bytes.Equal(p.Data, want) || p.Next != int64(len(all)) ||
			p.More {
			t.Fatalf("%d: %q, want %q, %+v, %v", i, p.Data, want, p, err)
		}
	}
	if p, err := s.Page(int64(len(all)+5), 10, false); err != nil || len(p.Data) > 0 || p.Next != int64(len(all)+5) {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestSpoolCharacters(t *testing.T) {
	s := &Log{Dir: t.TempDir(), Limit: 10}
	defer s.Drop()
	s.Write([]byte("箱の中\xe8")) // 10 bytes, the last one begins a character
	if p, _ := s.Page(0, 100, false); string(p.Data) != "箱の中" || p.More {
		t.Errorf("%q, %+v", p.Data, p)
	}
	if p, _ := s.Page(0, 5, false); string(p.Data) != "箱" || !p.More {
		t.Errorf("%q, %+v", p.Data, p)
	}
	if p, _ := s.Page(0, 100, true); string(p.Data) != "箱の中\xe8" {
		t.Errorf("%q", p.Data)
	}
	s.Write([]byte("\xba\xab")) // completes it, and pushes out part of the first
	if p, _ := s.Page(0, 100, true); string(p.Data) != "の中身" || p.Offset != 3 || p.Start != 2 {
		t.Errorf("%q, %+v", p.Data, p)
	}
}

func TestSpoolWithoutDisk(t *testing.T) {
	s := &Log{Dir: filepath.Join(t.TempDir(), "not there"), Limit: 10}
	if n, err := s.Write([]byte("x")); n != 1 || err != nil {
		t.Error(n, err)
	}
	if total, kept, why := s.Count(); total != 1 || kept != 0 || why == "" || strings.Contains(why, "/") {
		t.Error(total, kept, why)
	}
	if p, err := s.Page(0, 10, true); err != nil || len(p.Data) > 0 || p.Total != 1 {
		t.Errorf("%+v, %v", p, err)
	}
}
