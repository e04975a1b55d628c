package lenientjson

import (
	"cmp"
	"strings"
	"unicode/utf8"
)

// A MemberStream streams the string of one member of the answer while the answer arrives, without members of the same
// name in nested objects.
type MemberStream struct {
	Member  string   // the member to stream; empty means "text"
	Members []string // by which the answer is identified, see [Find]; nil means Member alone
	Names   []string // that the answer has, see [FindAmong]; nil means Members

	received strings.Builder
	work     int // how many bytes were parsed to find the beginning
	met      int // where the name of the member was seen last
	begin    int // where its text begins
	decoder  *decoder
	given    int
}

// near is the largest distance of a string from the name of its member.
const near = 64

// Hear adds the next piece and returns the part of the member in it.
func (l *MemberStream) Hear(piece string) string {
	if l.received.Len()+len(piece) > largest || l.decoder != nil && l.decoder.done {
		return ""
	}
	before := l.received.Len()
	l.received.WriteString(piece)
	if l.decoder == nil && !l.begins(before) {
		return ""
	}
	l.decoder.text = whole(l.received.String())[l.begin:]
	l.decoder.run()
	text := l.decoder.out.String()
	fresh := text[l.given:]
	l.given = len(text)
	return fresh
}

// whole is a text without an incomplete character at its end: the meaning of a quote depends on the next character.
func whole(text string) string {
	for n := 1; n < utf8.UTFMax && n <= len(text); n++ {
		last := text[len(text)-n:]
		if utf8.RuneStart(last[0]) {
			if utf8.FullRuneInString(last) {
				return text
			}
			return text[:len(text)-n]
		}
	}
	return text
}

// begins searches for the beginning of the string, if the name of the member arrived recently.
func (l *MemberStream) begins(before int) bool {
	name, received := l.member(), whole(l.received.String())
	from := max(0, min(before, len(received))-len(name))
	if at := strings.LastIndex(received[from:], name); at >= 0 {
		l.met = from + at + len(name)
	}
	if l.met == 0 || before-l.met > near || l.work > maxWork {
		return false
	}
	begin, open, ok := l.locate(received, name)
	if ok {
		l.begin, l.decoder = begin, &decoder{open: open, where: inValue, names: l.names()}
	}
	return ok
}

func (l *MemberStream) member() string { return cmp.Or(l.Member, "text") }

func (l *MemberStream) members() []string {
	if l.Members == nil {
		return []string{l.member()}
	}
	return l.Members
}

func (l *MemberStream) names() []string {
	if l.Names == nil {
		return l.members()
	}
	return l.Names
}

// locate finds where the string of a member begins in an incomplete answer. An open object that may still become the
// answer is not searched inside.
func (l *MemberStream) locate(received, member string) (begin int, open rune, ok bool) {
	members := l.members()
	l.work += len(received)
	s := newSearch(received)
	for at, more := s.next(); more; at, more = s.next() {
		r := reader{text: received, at: at, names: l.names(), wanted: member}
		v, _ := r.value()
		l.work += r.at - at
		if r.member > 0 {
			return r.member, r.closer, true
		}
		if v.Cut || l.work > maxWork {
			break
		}
		if inner := v.find(members); inner != nil {
			r = reader{text: received, at: inner.at, names: l.names(), wanted: member}
			_, _ = r.value()
			return r.member, r.closer, r.member > 0
		}
		s.at = r.at
	}
	return 0, 0, false
}
