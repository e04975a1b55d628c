package redact

import "strings"

// anchor marks the bytes at which a secret can be told from ordinary text. They
// were chosen to be rare: "ghp_" is recognised at its underscore, not its g.
var anchor = [256]bool{'-': true, '_': true, ':': true, '=': true, 'I': true, 'z': true, 'J': true, 'B': true, 'b': true, '.': true}

// A prefix is how a vendor's tokens begin; at least min token letters follow.
type prefix struct {
	text string
	min  int
}

// The prefixes, by the byte that is their anchor and last byte.
var (
	dashed = []prefix{{"sk-", 12}, {"glpat-", 12}, {"gldt-", 12}, {"glrt-", 12}, {"xoxb-", 8}, {"xoxa-", 8}, {"xoxp-", 8},
		{"xoxr-", 8}, {"xoxs-", 8}, {"xapp-", 8}, {"pypi-", 30}, {"AGE-SECRET-KEY-", 20}}
	scored = []prefix{{"ghp_", 12}, {"gho_", 12}, {"ghs_", 12}, {"ghu_", 12}, {"ghr_", 12}, {"github_pat_", 12}, {"hf_", 20},
		{"npm_", 20}, {"sk_live_", 12}, {"sk_test_", 12}, {"rk_live_", 12}, {"dop_v1_", 20}}
	dotted = []prefix{{"ya29.", 20}, {"SG.", 20}}
)

// find looks for a secret around the anchor s[i], not before low.
// An empty span means there is none.
func find(s string, i, low int) (from, to int) {
	switch s[i] {
	case '-':
		return dash(s, i, low)
	case '_':
		return token(s, i, low, scored)
	case '.':
		return token(s, i, low, dotted)
	case 'I':
		return amazon(s, i, low)
	case 'z':
		return google(s, i, low)
	case 'J':
		return webToken(s, i, low)
	case 'B', 'b':
		return bearer(s, i, low)
	case ':':
		if strings.HasPrefix(s[i:], "://") {
			return credentials(s, i+3)
		}
		return assigned(s, i, low)
	}
	return assigned(s, i, low)
}

func dash(s string, i, low int) (from, to int) {
	if strings.HasPrefix(s[i:], "-----BEGIN ") {
		return keyBlock(s, i)
	}
	if strings.HasPrefix(s[i:], "--") && (i == 0 || s[i-1] == ' ') {
		return option(s, i+2)
	}
	return token(s, i, low, dashed)
}

// token finds a vendor's token whose prefix ends with the anchor.
func token(s string, i, low int, known []prefix) (from, to int) {
	if i == 0 {
		return 0, 0
	}
	for k := range known {
		p := &known[k]
		from := i + 1 - len(p.text)
		// The byte before the anchor rules nearly all of them out.
		if p.text[len(p.text)-2] != s[i-1] || from < low || s[from:i+1] != p.text || from > 0 && letter(s[from-1]) {
			continue
		}
		if to := i + 1 + span(s[i+1:], tokenByte); to-i-1 >= p.min {
			return from, to
		}
	}
	return 0, 0
}

// amazon finds AKIA… and ASIA… key names.
func amazon(s string, i, low int) (from, to int) {
	from = i - 2
	if from < low || from > 0 && letter(s[from-1]) || i+1 >= len(s) || s[i+1] != 'A' {
		return 0, 0
	}
	if name := s[from:i]; name != "AK" && name != "AS" {
		return 0, 0
	}
	if n := span(s[from:], upperOrDigit); n >= 16 {
		return from, from + n
	}
	return 0, 0
}

// google finds AIza… keys.
func google(s string, i, low int) (from, to int) {
	from = i - 2
	if from < low || !strings.HasPrefix(s[from:], "AIza") {
		return 0, 0
	}
	if n := span(s[from:], tokenByte); n >= 24 {
		return from, from + n
	}
	return 0, 0
}

// webToken finds header.payload.signature, each in base64, the first being {"….
func webToken(s string, i, low int) (from, to int) {
	from = i - 2
	if from < low || s[from:i] != "ey" || from > 0 && letter(s[from-1]) {
		return 0, 0
	}
	head := span(s[from:], tokenByte)
	to = from + head
	if head < 10 || to+4 >= len(s) || s[to] != '.' || !strings.HasPrefix(s[to+1:], "ey") {
		return 0, 0
	}
	return from, to + span(s[to:], webTokenByte)
}

// bearer finds the token of an Authorization header, kept or not.
func bearer(s string, i, low int) (from, to int) {
	for _, word := range []string{"earer ", "asic "} {
		at := i + 1
		if i < low || !hasFold(s[at:], word) || i > 0 && letter(s[i-1]) {
			continue
		}
		at += len(word)
		if n := span(s[at:], base64Byte); n >= 12 && looksRandom(s[at:at+n]) {
			return at, at + n
		}
	}
	return 0, 0
}

// credentials finds user:password@ after the :// that ends before at.
func credentials(s string, at int) (from, to int) {
	n := span(s[at:], authorityByte)
	end := strings.LastIndexByte(s[at:at+n], '@')
	if end <= 0 {
		return 0, 0
	}
	return at, at + end
}

// keyBlock finds a private key in PEM form, up to its end or that of the text.
func keyBlock(s string, at int) (from, to int) {
	line := s[at:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	if !strings.Contains(line[:min(len(line), 80)], "PRIVATE KEY") {
		return 0, 0
	}
	const end = "-----END "
	stop := strings.Index(s[at:], end)
	if stop < 0 {
		return at, len(s)
	}
	stop += at + len(end)
	if n := strings.Index(s[stop:], "-----"); n >= 0 {
		return at, stop + n + len("-----")
	}
	return at, len(s)
}

// option finds the value of "--password value", the name beginning at.
func option(s string, at int) (from, to int) {
	n := span(s[at:], nameByte)
	if at+n >= len(s) || s[at+n] != ' ' || secretName(s[at:at+n]) == 0 {
		return 0, 0
	}
	return value(s, at+n+1)
}

// assigned finds the value of password=… or "token": "…", s[i] being = or :.
func assigned(s string, i, low int) (from, to int) {
	end := i
	if end > low && (s[end-1] == '"' || s[end-1] == '\'') {
		end--
	}
	if end == low || strings.IndexByte(nameEnds, s[end-1]|0x20) < 0 {
		return 0, 0
	}
	start := end
	for start > low && end-start < 64 && nameByte(s[start-1]) {
		start--
	}
	weight := secretName(s[start:end])
	if weight == 0 {
		return 0, 0
	}
	at := i + 1
	if s[i] == ':' {
		at += span(s[at:], blank)
	}
	from, to = value(s, at)
	// "unexpected token: name" is ordinary prose; a password never is.
	if s[i] == ':' && weight == 1 && to > from && s[from-1] != '"' && s[from-1] != '\'' && !looksRandom(s[from:to]) {
		return 0, 0
	}
	return from, to
}

// value returns the span of the word or quoted string at the given place.
func value(s string, at int) (from, to int) {
	if at >= len(s) {
		return 0, 0
	}
	if q := s[at]; q == '"' || q == '\'' {
		n := strings.IndexByte(s[at+1:], q)
		if n < 0 {
			n = len(s) - at - 1
		}
		from, to = at+1, at+1+n
	} else {
		from, to = at, at+span(s[at:], valueByte)
	}
	if reference(s[from:to]) {
		return 0, 0
	}
	return from, to
}

// The endings of names that hold secrets. Those of the first list are used for
// nothing else; those of the second also occur in prose.
var (
	surely = []string{"password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "clientsecret", "authtoken", "accesstoken", "refreshtoken"}
	maybe  = []string{"token", "secret", "credential", "credentials"}
)

// nameEnds has the last letters of those names: most names are ruled out by theirs.
const nameEnds = "deytnls"

// secretName weighs a name: 2 if it surely holds a secret, 1 if maybe, else 0.
func secretName(name string) int {
	if len(name) < 5 || len(name) > 64 {
		return 0
	}
	var folded [64]byte
	n := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_' || c == '-' || c == '.':
		case 'A' <= c && c <= 'Z':
			folded[n] = c | 0x20
			n++
		default:
			folded[n] = c
			n++
		}
	}
	switch {
	case endsWith(folded[:n], surely):
		return 2
	case endsWith(folded[:n], maybe):
		return 1
	}
	return 0
}

func endsWith(name []byte, words []string) bool {
	for _, w := range words {
		if len(name) >= len(w) && string(name[len(name)-len(w):]) == w {
			return true
		}
	}
	return false
}

// looksRandom tells keys from words: a key of some length has a digit in it.
func looksRandom(s string) bool {
	return len(s) >= 6 && strings.ContainsAny(s, "0123456789")
}

func hasFold(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

func letter(c byte) bool       { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
func tokenByte(c byte) bool    { return letter(c) || c == '_' || c == '-' }
func nameByte(c byte) bool     { return tokenByte(c) }
func webTokenByte(c byte) bool { return tokenByte(c) || c == '.' || c == '=' }
func base64Byte(c byte) bool   { return webTokenByte(c) || c == '+' || c == '/' || c == '~' }
func upperOrDigit(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
func blank(c byte) bool        { return c == ' ' || c == '\t' }
func authorityByte(c byte) bool {
	return c > ' ' && c != '/' && c != '"' && c != '\'' && c != '?' && c != '#'
}
func valueByte(c byte) bool {
	return c > ' ' && c != '"' && c != '\'' && c != '&' && c != ';' && c != ',' && c != '|' && c != '}' && c != ')'
}
