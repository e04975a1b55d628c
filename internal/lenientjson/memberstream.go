package lenientjson

import (
	"strings"
	"unicode/utf8"
)

// A MemberStream passes the text of one member of the answer on while the answer still arrives. It passes on nothing
// but that: neither JSON, nor members of the same name further inside, nor prose.
type MemberStream struct {
	Member  string   // whose text is passed on; empty means "text"
	Members []string // by which the answer is known, see [Find]; nil means Member alone
	Names   []string // that the answer has, see [FindAmong]; nil means Members

	heard   strings.Builder
	work    int // how many bytes were looked at for the beginning
	met     int // where the name of the member was seen last
	begin   int // where its text begins
	decoder *decoder
	given   int
}

// near is how far from its name the text of a member begins at most.
const near = 64

// Hear takes the next piece and returns what of the member it brought.
func (l *MemberStream) Hear(piece string) string {
	if l.heard.Len()+len(piece) > Largest || l.decoder != nil && l.decoder.done {
		return ""
	}
	before := l.heard.Len()
	l.heard.WriteString(piece)
	if l.decoder == nil && !l.begins(before) {
		return ""
	}
	l.decoder.text = whole(l.heard.String())[l.begin:]
	l.decoder.run()
	text := l.decoder.out.String()
	fresh := text[l.given:]
	l.given = len(text)
	return fresh
}

// whole is a text without the character at its end that is still to come in part: what a quote means is decided by the
// one behind it.
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

// begins looks for the beginning of the text, if the name of the member came just now or shortly before.
func (l *MemberStream) begins(before int) bool {
	name, heard := l.member(), whole(l.heard.String())
	from := max(0, min(before, len(heard))-len(name))
	if at := strings.LastIndex(heard[from:], name); at >= 0 {
		l.met = from + at + len(name)
	}
	if l.met == 0 || before-l.met > near || l.work > mostWork {
		return false
	}
	begin, open, ok := l.locate(heard, name)
	if ok {
		l.begin, l.decoder = begin, &decoder{open: open, where: inValue, names: l.names()}
	}
	return ok
}

func (l *MemberStream) member() string {
	if l.Member == "" {
		return "text"
	}
	return l.Member
}

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

// locate finds where the text of a member begins in an answer that is not complete. As long as an object is open that
// may still become the answer, what is inside of it is not looked at.
func (l *MemberStream) locate(heard, member string) (begin int, open rune, ok bool) {
	members := l.members()
	l.work += len(heard)
	s := newSearch(heard)
	for at, more := s.next(); more; at, more = s.next() {
		r := reader{text: heard, at: at, names: l.names(), wanted: member}
		v, _ := r.value()
		l.work += r.at - at
		if r.member > 0 {
			return r.member, r.closer, true
		}
		if v.Cut || l.work > mostWork {
			break
		}
		if inner := v.find(members); inner != nil {
			r = reader{text: heard, at: inner.at, names: l.names(), wanted: member}
			_, _ = r.value()
			return r.member, r.closer, r.member > 0
		}
		s.at = r.at
	}
	return 0, 0, false
}
