// Package auth has the access tokens, the sessions that were opened with them, and the throttling of failed logins.
//
// It does not know HTTP. A secret is returned once and stored as a hash, and hashes are compared in constant time.
package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
)

// A digest is the hash of a secret. A secret has 256 random bits, so that a slow hash is not needed.
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

// newSecret returns a random secret. Its prefix identifies it to secret scanners.
func newSecret(prefix string) string {
	var b [32]byte
	rand.Read(b[:]) // never fails
	return prefix + base64.RawURLEncoding.EncodeToString(b[:])
}
