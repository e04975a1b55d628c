package redact

import (
	"slices"
	"strings"
)

// A program takes a password in an option that means something else to other programs.
type program struct {
	name     string
	flag     byte // the letter of the option; 0 means none
	attached bool // -psecret only: mysql -p db asks for the password
	login    bool // only "docker login" does
	leads    bool // another command follows its options: sshpass -p x ssh -p 22
	user     byte // what parts the password from the name in -u name:password; 0 means there is no such option
	cookies  bool // -b name=value
	last     bool // the last word is one if there is an option b
	alone    bool // its words are no programs: find mysql -print
}

// programs are referred to by index; the first stands for any other program.
var programs = slices.Concat([]program{{}},
	named(program{user: ':', cookies: true}, "curl"),
	named(program{user: '%'}, "smbclient rpcclient smbget"),
	named(program{flag: 'p', leads: true}, "sshpass"),
	named(program{flag: 'p', login: true}, "docker podman nerdctl buildah skopeo oras"),
	named(program{flag: 'p', attached: true}, "mysql mysqldump mysqladmin mysqlimport mysqlcheck mysqlshow mysqlbinlog "+
		"mariadb mariadb-dump mariadb-admin mariadb-import"),
	named(program{flag: 'a'}, "redis-cli valkey-cli"),
	named(program{flag: 'w'}, "ldapsearch ldapadd ldapmodify ldapdelete ldappasswd ldapwhoami ldapcompare ldapmodrdn"),
	named(program{last: true}, "htpasswd"),
	named(program{alone: true}, "find"),
)

func named(p program, names string) (list []program) {
	for p.name = range strings.FieldsSeq(names) {
		list = append(list, p)
	}
	return list
}

// curl is the index of the first program with a name.
const curl = 1

// programLengths has, for each byte, a bit for the length of each name that begins with it, which rules out
// nearly all other words.
var programLengths = lengths()

func lengths() (by [256]uint32) {
	for _, p := range programs[curl:] {
		by[p.name[0]] |= 1 << len(p.name)
	}
	return by
}

func programLike(word string) bool { return programLengths[word[0]]&(1<<len(word)) != 0 }

// programNumber returns the index of the program that a word names, if rest follows it.
func programNumber(word, rest string) (n byte, ok bool) {
	for k := curl; k < len(programs); k++ {
		switch p := &programs[k]; {
		case p.name != word:
		case p.login && !firstWord(rest, "login"):
			return 0, true
		default:
			return byte(k), true
		}
	}
	return 0, false
}

func firstWord(s, word string) bool {
	s, ok := strings.CutPrefix(s[span(s, isBlank):], word)
	return ok && (s == "" || s[0] <= ' ')
}

// program returns the program whose option s[at] may be.
func (sc *scanner) program(s string, at int) *program {
	return &programs[sc.stateAt(&sc.commands, s[:at], at, nextProgram)]
}

func nextProgram(s string, i int, now byte) (byte, int) {
	switch c := s[i]; {
	case nameByte(c):
		end := i + 1 + span(s[i+1:], nameByte)
		return programAfter(s, i, end, now), end
	case c == '\n', c == '`', endsCommand(c):
		return 0, i + 1
	case c == '\\' && i+1 < len(s) && isEscapeLetter(s[i+1]):
		if s[i+1] == 'n' && now != curl {
			now = 0 // the line ends, as JSON spells it
		}
		return now, i + 2
	}
	return now, i + 1
}

func endsCommand(c byte) bool { return c == ';' || c == '|' || c == '&' || c == '(' }

// programAfter returns the program that the words after s[i:end] belong to.
func programAfter(s string, i, end int, now byte) byte {
	p := &programs[now]
	if p.leads && s[i] != '-' {
		now = 0
	}
	switch {
	case strings.HasPrefix(s[i:end], "curl"), strings.HasSuffix(s[i:end], "curl"):
		return curl
	case p.alone, !programLike(s[i:end]), !programPlace(s, i, end):
		return now
	}
	if n, ok := programNumber(s[i:end], s[end:]); ok {
		return n
	}
	return now
}

// programPlace reports whether s[i:end] may name a program in its position, unlike mysql:8 and /var/lib/mysql.
func programPlace(s string, i, end int) bool {
	if end < len(s) && s[end] > ' ' && !isQuoteOrBackslash(s[end]) {
		return false
	}
	return i == 0 || s[i-1] <= ' ' || isQuote(s[i-1]) || s[i-1] == '`' || endsCommand(s[i-1]) || escapedBefore(s, i) ||
		strings.HasSuffix(s[:i], "bin/")
}

// programOption reports whether an option may be one of a program, to avoid the search for it.
func programOption(option string) bool {
	name := strings.TrimLeft(option, "-")
	if name == "" {
		return false
	}
	if len(option)-len(name) > 1 {
		return name == "cookie" || strings.HasSuffix(name, "user")
	}
	last := name[len(name)-1]
	return strings.IndexByte("uUpawb", name[0]) >= 0 || last|0x20 == 'u' || last == 'b' || len(name) < 6 &&
		strings.IndexByte(name, 'b') > 0
}

// programSecret finds the secret in or after the option s[i:end] of a program.
func (sc *scanner) programSecret(s string, i, end int) (from, to int) {
	p, option := sc.program(s, i), s[i:end]
	switch {
	case p.flag != 0 && option[1] == p.flag:
		return sc.flagValue(s, i, p)
	case p.last && batchOption(option):
		return sc.htpasswdPassword(s, i)
	case p.cookies && cookieOption(option):
		return sc.optionCookies(s, i, end)
	case p.user != 0 && (option[1]|0x20 == 'u' || userOption(option) || strings.HasSuffix(option, "user")):
		return sc.userPassword(s, i, end+span(s[end:], isBlank), p.user)
	}
	return 0, 0
}

// flagValue finds the value of an option of one letter, the dash being s[i].
func (sc *scanner) flagValue(s string, i int, p *program) (from, to int) {
	at := i + 2
	opened := i > 0 && isQuote(s[i-1])
	if opened && at < len(s) && s[at] == s[i-1] {
		at++ // "-p" secret
	} else if at < len(s) && !isBlank(s[at]) {
		return sc.attachedValue(s, i, opened)
	}
	next := at + span(s[at:], isBlank)
	if p.attached || next == at || next == len(s) || s[next] == '-' {
		return 0, 0
	}
	return sc.value(s, next, sc.quoted(s, i))
}

// attachedValue finds the value in the same word as its option. In `mysql -p` the backquote is not a value; after
// docker run, mysql is a container and -p80:80 its port.
func (sc *scanner) attachedValue(s string, i int, opened bool) (from, to int) {
	at := i + 2
	if s[at] == '`' {
		return 0, 0
	}
	if opened {
		from, to = sc.valueInQuote(s, i-1, at)
	} else {
		from, to = sc.value(s, at, sc.quoted(s, i))
	}
	if portMapping(s[from:to]) {
		return 0, 0
	}
	return from, to
}

// portMapping reports whether a word is like 127.0.0.1:80:80/tcp.
func portMapping(word string) bool {
	word, _, _ = strings.Cut(word, "/")
	return strings.Contains(word, ":") &&
		span(word, func(c byte) bool { return isDigit(c) || c == '.' || c == ':' || c == '-' }) == len(word)
}

// htpasswdPassword finds the password of htpasswd -b file name password, and of htpasswd -nb name password; s[i]
// is the dash of an option.
func (sc *scanner) htpasswdPassword(s string, i int) (from, to int) {
	outer, start := sc.quoted(s, i), sc.contextStart(i)
	at := start + strings.LastIndex(s[start:i], "htpasswd") + len("htpasswd")
	for left := (htpasswdWords{}); !left.none(); at = to {
		from = at + span(s[at:], isBlank)
		switch {
		case from == len(s) || from == at || isWordBreak(s[from]) || s[from] == outer:
			return 0, 0
		case sc.exhausted():
			return max(i, from), len(s)
		}
		to = sc.wordEnd(s, from, outer)
		left.take(s[from:to])
	}
	if from < i {
		return 0, 0
	}
	return sc.value(s, from, outer)
}

// htpasswdWords counts the words of htpasswd up to the password. Words before the first option belong to another
// program: docker run --entrypoint htpasswd image -nb.
type htpasswdWords struct {
	taken   int
	options bool
}

func (p *htpasswdWords) none() bool { return p.taken == 3 }

// take counts a word: with -n there is no file, and a number follows -C.
func (p *htpasswdWords) take(word string) {
	switch {
	case word == "" || word[0] != '-':
		if p.options {
			p.taken++
		}
		return
	case strings.IndexByte(word, 'n') > 0:
		p.taken++
	}
	if strings.HasSuffix(word, "C") {
		p.taken--
	}
	p.options = true
}

// opensslPassword finds the password of -passin pass:password, the value being at.
func (sc *scanner) opensslPassword(s string, i, at int) (from, to int) {
	const kind = "pass:"
	switch {
	case strings.HasPrefix(s[at:], kind):
		return sc.value(s, at+len(kind), sc.quoted(s, i))
	case at < len(s) && isQuote(s[at]) && strings.HasPrefix(s[at+1:], kind):
		return sc.valueInQuote(s, at, at+1+len(kind))
	}
	return 0, 0
}

// programOf returns the program that the words after argv[i] belong to.
func programOf(argv []string, i int, now byte) byte {
	word, rest := argv[i], ""
	if i+1 < len(argv) {
		rest = argv[i+1]
	}
	p := &programs[now]
	if p.leads && !strings.HasPrefix(word, "-") {
		now = 0
	}
	if name := base(word); i == 0 || strings.HasSuffix(word, "bin/"+name) {
		word = name
	}
	if n, ok := programNumber(word, rest); ok && !p.alone {
		return n
	}
	return now
}

// flagPart returns where the secret begins in the word after, or in, an option of one letter.
func flagPart(option, word string, p *program) int {
	flag := string([]byte{'-', p.flag})
	switch {
	case strings.HasPrefix(word, flag) && !portMapping(word[len(flag):]):
		return len(flag)
	case option == flag && !p.attached && !strings.HasPrefix(word, "-"):
		return 0
	}
	return len(word)
}

// isHtpasswdPassword reports whether argv[i] is the password of htpasswd.
func isHtpasswdPassword(argv []string, i int) bool {
	var left htpasswdWords
	batch := false
	for k := slices.IndexFunc(argv, isHtpasswd) + 1; k < i && !left.none(); k++ {
		left.take(argv[k])
		batch = batch || batchOption(argv[k])
	}
	left.take(argv[i])
	return batch && left.none()
}

func isHtpasswd(word string) bool { return base(word) == "htpasswd" }

// batchOption reports whether a word has the option -b of htpasswd.
func batchOption(word string) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.IndexByte(word, 'b') > 0
}
