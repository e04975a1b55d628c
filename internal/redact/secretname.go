package redact

import "strings"

// The endings of names of secrets. The first list is used for nothing else; the second also occurs in prose; the
// third only counts as a whole word, unlike compass and OLDPWD.
var (
	certainNames = []string{"password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "clientsecret",
		"authtoken", "accesstoken", "refreshtoken",
		"secretkeybase", "encryptionkey", "signingkey", "passcode", "accountkey", "sshpass", "dbpass", "userpass", "rootpass"}
	likelyNames = []string{"token", "secret", "credential", "credentials"}
	wholeWords  = []string{"pass", "pwd"}
)

// The last letter and the last two letters of these names, which rule out most other names.
const (
	nameEnds  = "deytnls"
	nameTails = "rd wd se ey et en de ss al ls"
)

// tails has, for each letter, a bit for each letter that follows it in nameTails.
var tails = pairsOf(nameTails)

func pairsOf(list string) (after [32]uint32) {
	for pair := range strings.FieldsSeq(list) {
		after[pair[0]&31] |= 1 << (pair[1] & 31)
	}
	return after
}

// nameTail reports whether a name with these last letters may be that of a secret.
func nameTail(a, b byte) bool {
	if a < 'a' || a > 'z' {
		return strings.IndexByte(nameEnds, b) >= 0
	}
	return tails[a&31]>>(b&31)&1 != 0
}

// How likely a name is that of a secret; zero means that it is not.
const (
	unlikelySecret = 1 + iota
	likelySecret
	certainSecret
)

// secretName returns how likely a name is that of a secret.
func secretName(name string) int {
	if len(name) < 4 || len(name) > 64 {
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
	case endsWith(folded[:n], certainNames):
		return certainSecret
	case endsWith(folded[:n], likelyNames):
		return likelySecret
	case endsWith(folded[:n], wholeWords) && isLastWord(name):
		return unlikelySecret
	}
	return 0
}

// isLastWord reports whether the last word of a name is pass, or pwd after another word: PWD alone is the current
// directory.
func isLastWord(name string) bool {
	last := name[strings.LastIndexAny(name, "_-.")+1:]
	return strings.EqualFold(last, "pass") || strings.EqualFold(last, "pwd") && len(last) < len(name)
}

func endsWith(name []byte, words []string) bool {
	n := len(name)
	for _, w := range words {
		if n >= len(w) && name[n-1] == w[len(w)-1] && string(name[len(name)-len(w):]) == w {
			return true
		}
	}
	return false
}
