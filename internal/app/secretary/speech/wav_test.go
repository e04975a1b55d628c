package speech

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

// pcm returns a WAV of silence: one channel of 16 bits.
func pcm(rate, samples int) []byte {
	format := binary.LittleEndian.AppendUint32([]byte{1, 0, 1, 0}, uint32(rate))
	format = binary.LittleEndian.AppendUint32(format, uint32(2*rate))
	s := &sound{format: append(format, 2, 0, 16, 0), data: make([]byte, 2*samples)}
	return s.wav()
}

func TestParse(t *testing.T) {
	good := pcm(24000, 240)
	change := func(at int, b ...byte) []byte {
		c := bytes.Clone(good)
		copy(c[at:], b)
		return c
	}
	tests := []struct {
		name string
		wav  []byte
		want string // empty means that it is fine
	}{
		{"good", good, ""},
		{"followed by something", append(bytes.Clone(good), "xx"...), ""},
		{"float", change(20, 3), ""},
		{"empty", nil, "no WAV"},
		{"text", []byte("this is no sound"), "no WAV"},
		{"no RIFF", change(0, 'X'), "no WAV"},
		{"no WAVE", change(8, 'X'), "no WAV"},
		{"cut", good[:len(good)-1], "shorter than it says"},
		{"cut in the header", good[:20], "shorter than it says"},
		{"too small a size", change(4, 0, 0, 0, 0), "shorter than it says"},
		{"endless size", change(4, 0xff, 0xff, 0xff, 0xff), "shorter than it says"},
		{"endless data", change(40, 0xff, 0xff, 0xff, 0xff), "shorter than it says"},
		{"endless format", change(16, 0xff, 0xff, 0xff, 0xff), "shorter than it says"},
		{"no format", change(12, 'x'), "lacks its format"},
		{"no data", change(36, 'x'), "lacks its format or its samples"},
		{"mp3 inside", change(20, 0x55), "of a kind"},
		{"no channels", change(22, 0), "makes no sense"},
		{"no rate", change(24, 0, 0, 0, 0), "makes no sense"},
		{"wrong block", change(32, 4), "do not add up"},
		{"wrong rate of bytes", change(28, 1), "do not add up"},
		{"half a sample", change(40, 0xdf), "do not add up"},
	}
	for _, tt := range tests {
		s, err := parse(tt.wav)
		if tt.want == "" && (err != nil || s.length() != 10*time.Millisecond || len(s.wav()) != len(good)) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// What is in a WAV beside its sound does not reach a player.
func TestParseDropsTheRest(t *testing.T) {
	good := pcm(24000, 3)
	extra := append(bytes.Clone(good[:12]), "LIST\x03\x00\x00\x00abc\x00"...)
	extra = append(extra, good[12:]...)
	binary.LittleEndian.PutUint32(extra[4:], uint32(len(extra)-8))
	s, err := parse(extra)
	if err != nil || !bytes.Equal(s.wav(), good) {
		t.Errorf("%v %q", err, s.wav())
	}
}

func TestAdd(t *testing.T) {
	one, _ := parse(pcm(24000, 5))
	two, _ := parse(pcm(24000, 7))
	other, _ := parse(pcm(16000, 7))
	var whole sound
	for _, s := range []*sound{one, two} {
		if err := whole.add(s); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(whole.wav(), pcm(24000, 12)) || len(one.data) != 10 {
		t.Errorf("%q", whole.wav())
	}
	if err := whole.add(other); err == nil {
		t.Error("two rates in one")
	}
	huge := &sound{format: whole.format, data: make([]byte, maxResponse)}
	if err := whole.add(huge); err == nil {
		t.Error("no end to it")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(pcm(24000, 10))
	f.Add(pcm(16000, 0))
	f.Add([]byte("RIFF\x04\x00\x00\x00WAVE"))
	f.Fuzz(func(t *testing.T, wav []byte) {
		s, err := parse(wav)
		if err != nil {
			return
		}
		again, err := parse(s.wav())
		if err != nil || !bytes.Equal(again.data, s.data) || again.length() != s.length() || s.length() < 0 {
			t.Errorf("%v: %q became %q", err, wav, s.wav())
		}
	})
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name, text string) string {
		path := filepath.Join(dir, name)
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	wav := pcm(24000, 10)
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{at("new.wav", ""), empty, at("old.wav", string(pcm(16000, 3)))} {
		if err := WriteFile(path, wav); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, wav) {
			t.Errorf("%s has %q", path, got)
		}
	}
	link := filepath.Join(dir, "link.wav")
	if err := os.Symlink(filepath.Join(dir, "new.wav"), link); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{at("thesis.txt", "all my work"), at("avi", "RIFF\x00\x00\x00\x00AVI "), at("x", "RIFF"),
		dir, link} {
		err := WriteFile(path, wav)
		if fault.KindOf(err) != fault.Invalid || fault.Hint(err) == "" ||
			!strings.HasPrefix(err.Error(), "write "+path+": ") {
			t.Errorf("%s: %v", path, err)
		}
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "thesis.txt")); string(got) != "all my work" {
		t.Errorf("%q", got)
	}
	if err := WriteFile(filepath.Join(dir, "n"), []byte("no sound")); err == nil {
		t.Error("what is no WAV was written")
	}
	if err := WriteFile(filepath.Join(dir, "none", "n.wav"), wav); fault.KindOf(err) != fault.NotFound {
		t.Error(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
