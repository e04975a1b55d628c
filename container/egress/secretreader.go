package egress

import (
	"bytes"
	"encoding/base64"
	"io"
	"strings"

	"hako/run/fault"
)

// minSecret is the minimum length of a secret: every text contains an "abc".
const minSecret = 6

// secrets returns the secrets in a header's value: the value, the token after "Basic" or "Bearer", and the decoded
// password.
func secrets(value string) []string {
	all := []string{value}
	_, token, ok := strings.Cut(value, " ")
	if ok {
		all = append(all, strings.TrimSpace(token))
	}
	if pair, err := base64.StdEncoding.DecodeString(all[len(all)-1]); ok && err == nil {
		_, password, _ := strings.Cut(string(pair), ":")
		all = append(all, password)
	}
	var long []string
	for _, s := range all {
		if len(s) >= minSecret {
			long = append(long, s)
		}
	}
	return long
}

// A secretReader reads up to the first secret. It delays only bytes that may be the beginning of one.
type secretReader struct {
	from    io.Reader
	secrets [][]byte
	buf     []byte
	clean   []byte // of buf, to be returned
	kept    []byte // of buf, after clean: perhaps the beginning of a secret
	err     error  // to be returned after clean
}

func newSecretReader(from io.Reader, secrets []string) *secretReader {
	g := &secretReader{from: from}
	longest := 0
	for _, s := range secrets {
		g.secrets = append(g.secrets, []byte(s))
		longest = max(longest, len(s))
	}
	g.buf = make([]byte, 32<<10+longest)
	return g
}

// Read implements io.Reader.
func (g *secretReader) Read(p []byte) (int, error) {
	for len(g.clean) == 0 {
		if g.err != nil {
			return 0, g.err
		}
		g.fill()
	}
	n := copy(p, g.clean)
	g.clean = g.clean[n:]
	return n, nil
}

func (g *secretReader) fill() {
	start := copy(g.buf, g.kept)
	n, err := g.from.Read(g.buf[start:])
	all := g.buf[:start+n]
	if g.err = err; g.leaks(all) {
		g.clean, g.kept, g.err = nil, nil, errLeak
		return
	}
	keep := g.suspect(all)
	if err == io.EOF {
		keep = 0 // nothing follows that could complete it
	}
	g.clean, g.kept = all[:len(all)-keep], all[len(all)-keep:]
}

func (g *secretReader) leaks(text []byte) bool {
	for _, s := range g.secrets {
		if bytes.Contains(text, s) {
			return true
		}
	}
	return false
}

// suspect returns how many of the last bytes may be the beginning of a secret.
func (g *secretReader) suspect(text []byte) int {
	limit := 0
	for _, s := range g.secrets {
		for n := min(len(s)-1, len(text)); n > limit; n-- {
			if bytes.HasSuffix(text, s[:n]) {
				limit = n
			}
		}
	}
	return limit
}

var errLeak = &fault.Error{Kind: fault.Denied, Op: "lend git credential",
	Why: "the server sent the credential back, so the answer was cut off"}
