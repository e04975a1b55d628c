package lenientjson

import (
	"encoding/json"
	"strings"

	"hako/run/fault"
)

// maxWork is how many bytes a [MemberStream] parses in search of an object: it starts again with every piece.
const maxWork = 4 * largest

// Find returns the first object in a text that has one of the members. Reasoning before the answer is skipped. It is an
// error if it is ambiguous which of two objects is the answer: one of them may be a quotation.
func Find(text string, members ...string) (Value, error) {
	return FindAmong(text, members, members...)
}

// FindAmong is [Find] for an object that can have members of more names than it is identified by. Where one of the
// names follows a quote and a colon follows it, the string before was never closed. It ends there, as truncated, and so
// does the object: what follows may be a quotation.
func FindAmong(text string, names []string, members ...string) (Value, error) {
	if len(text) > largest {
		return Value{}, &fault.Error{Kind: fault.TooLarge, Op: "read answer", Why: "it is longer than 256 KB"}
	}
	if v, ok := proper(text); ok {
		if found := v.find(members); found != nil {
			return *found, nil
		}
		return Value{}, nothing(members)
	}
	s := newSearch(text)
	s.names = names
	return s.answer(members)
}

func nothing(members []string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read answer", Why: "there is no JSON object with " +
		strings.Join(members, ", ") + " in it"}
}

func doubt() error {
	return &fault.Error{Kind: fault.Invalid, Op: "read answer",
		Why: "it cannot be told which of its objects is the answer", Hint: "answer with one JSON object and nothing else"}
}

// proper parses a text that is valid JSON, perhaps in a fence.
func proper(text string) (Value, bool) {
	text = trim(text)
	if inner, ok := strings.CutSuffix(text, "```"); ok && strings.HasPrefix(inner, "```") {
		_, inner, _ = strings.Cut(inner, "\n")
		text = trim(inner)
	}
	if !json.Valid([]byte(text)) {
		return Value{}, false
	}
	r := reader{text: text}
	return r.value()
}

func trim(text string) string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), "\ufeff"))
}

func (v *Value) has(members []string) bool {
	for _, name := range members {
		if _, ok := v.Get(name); ok {
			return true
		}
	}
	return false
}

// find returns the first object, from the outside in, that has one of the members.
func (v *Value) find(members []string) *Value {
	if v.has(members) {
		return v
	}
	for i := range v.Members {
		if found := v.Members[i].Value.find(members); found != nil {
			return found
		}
	}
	for i := range v.List {
		if found := v.List[i].find(members); found != nil {
			return found
		}
	}
	return nil
}

// A search iterates over the objects in a text. It does not search inside of an object for another.
type search struct {
	text    string
	names   []string // of the answer, see [FindAmong]
	at      int
	begin   int // where the answer begins, after reasoning and a fence
	thought int // where reasoning ended last, outside of any object
}

func newSearch(text string) *search {
	at := unthought(text)
	if rest := text[at:]; strings.HasPrefix(rest, "```") {
		at += strings.IndexByte(rest+"\n", '\n')
		at += blanks(text[at:])
	}
	return &search{text: text, at: at, begin: at}
}

// unthought returns where a text continues after reasoning at its beginning. Reasoning without an end is the whole text.
func unthought(text string) int {
	at := blanks(text)
	for strings.HasPrefix(text[at:], "<think") {
		end, n := thoughtsEnd(text[at:])
		if n == 0 {
			return len(text)
		}
		at += end + n
		at += blanks(text[at:])
	}
	return at
}

func blanks(text string) int {
	r := reader{text: text}
	r.pass()
	return r.at
}

// thoughtsEnd finds the tag at the end of reasoning, and its length.
func thoughtsEnd(text string) (at, n int) {
	for _, mark := range []string{"</think>", "</thinking>"} {
		if i := strings.Index(text, mark); i >= 0 && (n == 0 || i < at) {
			at, n = i, len(mark)
		}
	}
	return at, n
}

// answer returns the answer among the objects of the text. An object before the end of reasoning is not the answer if valid JSON follows.
func (s *search) answer(members []string) (Value, error) {
	var found *Value
	for at, ok := s.next(); ok; at, ok = s.next() {
		v := s.read(at)
		switch inner := v.find(members); {
		case inner == nil:
		case found == nil:
			found = inner
		case s.thought > found.at:
			if last, ok := proper(s.text[s.thought:]); ok && last.find(members) != nil {
				return *last.find(members), nil
			}
			return Value{}, doubt()
		}
	}
	switch {
	case found == nil:
		return Value{}, nothing(members)
	case s.rival(found.at, members):
		return Value{}, doubt()
	}
	return *found, nil
}

// maxMarks is how many tags are searched for a rival.
const maxMarks = 16

// rival reports whether a valid answer follows a tag inside of the object that was found: an unclosed quotation may contain it.
func (s *search) rival(from int, members []string) bool {
	for range maxMarks {
		at, n := thoughtsEnd(s.text[from:])
		if n == 0 {
			return false
		}
		from += at + n
		if v, ok := proper(s.text[from:]); ok && v.find(members) != nil {
			return true
		}
	}
	return false
}

// read parses the object at an offset and moves behind it.
func (s *search) read(at int) Value {
	r := reader{text: s.text, at: at, names: s.names}
	v, _ := r.value()
	s.at = r.at
	return v
}

// next returns where the next object begins. A list counts only at the beginning of the answer: prose has brackets too.
func (s *search) next() (at int, ok bool) {
	for s.at < len(s.text) {
		if s.at == s.begin && s.text[s.at] == '[' {
			return s.at, true
		}
		i := strings.IndexAny(s.text[s.at:], "{｛<")
		if i < 0 {
			break
		}
		s.at += i
		if s.text[s.at] != '<' && opens(s.text[s.at:]) {
			return s.at, true
		}
		if at, n := thoughtsEnd(s.text[s.at:min(len(s.text), s.at+len("</thinking>"))]); n > 0 && at == 0 {
			s.thought = s.at + n
		}
		s.at++
	}
	return 0, false
}

// opens reports whether a brace begins an object and is not part of prose or code: a name or the end follows.
func opens(text string) bool {
	r := reader{text: text}
	_, n := r.peek()
	r.at += n
	r.pass()
	c, n := r.peek()
	if n == 0 || isQuote(c) || c == '}' || c == ',' || c == '/' || c == '#' {
		return true
	}
	if r.word() == "" {
		return false
	}
	r.pass()
	c, n = r.peek()
	return n == 0 || c == ':' || c == '='
}
