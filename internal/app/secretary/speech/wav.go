package speech

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"time"
)

// A sound is the content of a WAV: its format chunk and samples.
type sound struct {
	format []byte
	data   []byte
}

const (
	formatPCM        = 1
	formatFloat      = 3
	formatExtensible = 0xfffe
	shortestFormat   = 16
	longestFormat    = 40
)

// parse parses a WAV and rejects a truncated one.
func parse(wav []byte) (*sound, error) {
	if len(wav) < 12 || string(wav[:4]) != "RIFF" || string(wav[8:12]) != "WAVE" {
		return nil, errors.New("it is no WAV")
	}
	size := int64(binary.LittleEndian.Uint32(wav[4:])) + 8
	if size > int64(len(wav)) || size < 12 {
		return nil, errors.New("the WAV is shorter than it says")
	}
	s, err := chunks(wav[12:size])
	if err != nil {
		return nil, err
	}
	return s, s.check()
}

// chunks finds the format and the data chunk.
func chunks(rest []byte) (*sound, error) {
	s := &sound{}
	for len(rest) >= 8 {
		name, size := string(rest[:4]), int64(binary.LittleEndian.Uint32(rest[4:]))
		rest = rest[8:]
		if size > int64(len(rest)) {
			return nil, errors.New("the WAV is shorter than it says")
		}
		body := rest[:size]
		rest = rest[min(size+size%2, int64(len(rest))):] // chunks are aligned to even offsets
		switch {
		case name == "fmt " && s.format == nil:
			s.format = body
		case name == "data" && s.data == nil:
			s.data = body
		}
	}
	return s, nil
}

// check rejects formats that players do not support.
func (s *sound) check() error {
	if len(s.format) < shortestFormat || len(s.format) > longestFormat || s.data == nil {
		return errors.New("the WAV lacks its format or its samples")
	}
	kind, channels := binary.LittleEndian.Uint16(s.format), int(s.word(2))
	bits, block := int(s.word(14)), int(s.word(12))
	rate, perSecond := int64(s.long(4)), int64(s.long(8))
	switch {
	case kind != formatPCM && kind != formatFloat && kind != formatExtensible:
		return errors.New("the WAV is of a kind that is not played")
	case channels < 1 || channels > 8 || rate < 1000 || rate > 400_000 || bits < 8 || bits > 64:
		return errors.New("the WAV has a format that makes no sense")
	case block != channels*((bits+7)/8) || perSecond != rate*int64(block) || len(s.data)%block != 0:
		return errors.New("the numbers of the WAV do not add up")
	}
	return nil
}

func (s *sound) word(at int) uint16 { return binary.LittleEndian.Uint16(s.format[at:]) }
func (s *sound) long(at int) uint32 { return binary.LittleEndian.Uint32(s.format[at:]) }

// length returns the duration of the sound.
func (s *sound) length() time.Duration {
	return time.Duration(float64(len(s.data)) / float64(s.long(8)) * float64(time.Second))
}

// add appends another sound of the same format.
func (s *sound) add(next *sound) error {
	switch {
	case s.format == nil:
		*s = sound{format: next.format, data: slices.Clone(next.data)}
		return nil
	case !bytes.Equal(s.format, next.format):
		return errors.New("the parts of the text came in different formats")
	case len(s.data)+len(next.data) > maxResponse:
		return errors.New("the text is too long to be spoken as a whole")
	}
	s.data = append(s.data, next.data...)
	return nil
}

// wav encodes the sound, without the other chunks of the original WAV.
func (s *sound) wav() []byte {
	pad := len(s.data) % 2
	b := make([]byte, 0, 28+len(s.format)+len(s.data)+pad)
	b = append(b, "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(4+8+len(s.format)+8+len(s.data)+pad))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.format)))
	b = append(b, s.format...)
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(s.data)))
	b = append(b, s.data...)
	return append(b, make([]byte, pad)...)
}
