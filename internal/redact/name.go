package redact

import "strings"

// The endings of names that hold secrets. Those of the first list are used for
// nothing else; those of the second also occur in prose, and those of the third
// count only as a word of their own: compass and OLDPWD are none.
var (
	surely = []string{"password", "passwd", "passphrase", "apikey", "secretkey", "accesskey", "privatekey", "clientsecret",
		"authtoken", "accesstoken", "refreshtoken",
		"secretkeybase", "encryptionkey", "signingkey", "passcode", "accountkey", "sshpass", "dbpass", "userpass", "rootpass"}
	maybe = []string{"token", "secret", "credential", "credentials"}
	words = []string{"pass", "pwd"}
)

// The last letters and the last two letters of those names: most other names
// are ruled out by theirs.
const (
	nameEnds  = "deytnls"
	nameTails = "rd wd se ey et en de ss al ls"
)

// tails has, for each letter, a bit for each that follows it in nameTails.
var tails = pairsOf(nameTails)

func pairsOf(list string) (after [32]uint32) {
	for pair := range strings.FieldsSeq(list) {
		after[pair[0]&31] |= 1 << (pair[1] & 31)
	}
	return after
}

// nameTail reports whether a name that ends with these small letters may be one
// of those.
func nameTail(a, b byte) bool {
	if a < 'a' || a > 'z' {
		return strings.IndexByte(nameEnds, b) >= 0
	}
	return tails[a&31]>>(b&31)&1 != 0
}

// How likely a name is to hold a secret; zero means it does not.
const (
	hardlySecret = 1 + iota
	maybeSecret
	surelySecret
)

// secretName weighs a name.
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
	case endsWith(folded[:n], surely):
		return surelySecret
	case endsWith(folded[:n], maybe):
		return maybeSecret
	case endsWith(folded[:n], words) && wordAlone(name):
		return hardlySecret
	}
	return 0
}

// wordAlone reports whether the last word of a name is pass, or pwd with
// another before it: PWD alone is where the shell stands.
func wordAlone(name string) bool {
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
