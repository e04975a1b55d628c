package forge

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// claims are those of an App's JSON Web Token.
type claims struct {
	Issued  *int64 `json:"iat"`
	Expires *int64 `json:"exp"`
	Issuer  any    `json:"iss"`
}

// check returns the App that signed an assertion, or why it is refused.
func (d *appRegistry) check(assertion string) (a *app, status int, why string) {
	const undecodable = "A JSON web token could not be decoded"
	parts := strings.Split(assertion, ".")
	var head struct{ Alg string }
	var said claims
	if len(parts) != 3 || !decode(parts[0], &head) || head.Alg != "RS256" || !decode(parts[1], &said) {
		return nil, http.StatusUnauthorized, undecodable
	}
	if a = d.issuer(said.Issuer); a == nil {
		return nil, http.StatusNotFound, "Integration not found"
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if err != nil || rsa.VerifyPKCS1v15(a.key, crypto.SHA256, sum[:], signature) != nil {
		return nil, http.StatusUnauthorized, undecodable
	}
	if why := said.timeError(d.now()); why != "" {
		return nil, http.StatusUnauthorized, why
	}
	return a, 0, ""
}

func decode(part string, into any) bool {
	text, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && json.Unmarshal(text, into) == nil
}

// issuer finds an App by its number, which may be a string.
func (d *appRegistry) issuer(named any) *app {
	for _, a := range d.all {
		if named == strconv.FormatInt(a.id, 10) || named == float64(a.id) {
			return a
		}
	}
	return nil
}

// timeError says what is wrong with the times. Ten minutes are the maximum, and the
// clock of an App must not be ahead.
func (c claims) timeError(now time.Time) string {
	switch {
	case c.Issued == nil || time.Unix(*c.Issued, 0).After(now):
		return "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued"
	case c.Expires == nil || !time.Unix(*c.Expires, 0).After(now):
		return "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires"
	case time.Unix(*c.Expires, 0).After(now.Add(10 * time.Minute)):
		return "'Expiration time' claim ('exp') is too far in the future"
	}
	return ""
}
