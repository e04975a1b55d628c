package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestAnchors makes sure that no place is passed over at which something would
// be found.
func TestAnchors(t *testing.T) {
	words := []string{"sk-", "abcdefghijklmnop1234", "ghp_", "SG.", "ya29.", "AKIA", "IOSFODNN7EXAMPLE", "AIza", "eyJ",
		".ey", "Bearer ", "basic ", "password", "token", "=", ":",
		"://u:p@h", "-----BEGIN RSA PRIVATE KEY", "--password ", "x", " ", "\n", "'", `"`, `\`, "[", "]", "+", "!", "-",
		"\x00", "日", "curl -u a:b", "Cookie: a=", "; b=c", `Cookie":`, "curl -b ", "sshpass -p", "mysql -p",
		"htpasswd -b a b c", " -passin pass:", "://discord.com/webhooks/1/abcdefgh", "_", "b", "B", "I", "z", "J", ".", `\n`,
		`\u000a`, "pass"}
	r := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		var b strings.Builder
		for range 1 + r.IntN(6) {
			b.WriteString(words[r.IntN(len(words))])
		}
		s := b.String()
		for i := range len(s) {
			if !strings.Contains("-_:=.IzJBb", s[i:i+1]) {
				continue
			}
			if from, to := new(scanner).find(s, i, 0); to > from && (nextAnchor(s, i, i+1) != i || nextAnchor(s, 0, len(s)) > i) {
				t.Fatalf("%q at %d", s, i)
			}
		}
	}
}

func TestNameTails(t *testing.T) {
	for _, name := range slices.Concat(certainNames, likelyNames, wholeWords) {
		n := len(name)
		if !nameTail(name[n-2], name[n-1]) || !strings.Contains(nameEnds, name[n-1:]) {
			t.Errorf("%s is not found by its last letters", name)
		}
	}
}
