// Package auth says who comes in: the tokens there are, the sessions that were
// opened with them, and how often somebody may try.
//
// It knows no HTTP: which header or cookie carries what is the server's matter.
// The one rule to keep: a secret is handed out once and kept as a hash, and two
// hashes are compared in the same time whatever they are.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
)

// A digest is what is kept of a secret. A secret has 256 random bits, so that
// nobody finds it by trying, and a slow hash would only slow us down.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

func (d digest) same(e digest) bool { return subtle.ConstantTimeCompare(d[:], e[:]) == 1 }

func (d digest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

func (d *digest) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(d) {
		return hex.ErrLength
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// newSecret makes one. Its beginning says what it is, for those who find it
// where it should not be.
func newSecret(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) // which never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}
