package forge

import (
	"context"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"strconv"
	"time"
)

// An App is a GitHub App, which signs with a key and receives tokens that last an
// hour. No format verb prints its key.
type App struct {
	ID           int64  // required
	Installation int64  // which of its installations; required
	Key          []byte `json:"-"` // its private key, PEM; required
}

// String returns the name of the App.
func (a App) String() string { return "App " + strconv.FormatInt(a.ID, 10) }

// Format implements fmt.Formatter.
func (a App) Format(f fmt.State, _ rune) { f.Write([]byte(a.String())) }

// signer checks the App and returns its signer.
func (a App) signer() (*signer, error) {
	for name, number := range map[string]int64{"github.app.id": a.ID, "github.app.installation_id": a.Installation} {
		if number <= 0 {
			return nil, invalid("configure", name, "it is not a valid number",
				"see the settings of the App and of its installation at GitHub")
		}
	}
	key, why := parseKey(a.Key)
	if why != "" {
		return nil, invalid("read", "github.app.private_key_file", why,
			"make a private key in the settings of the App at GitHub, and name the .pem file that you get")
	}
	return &signer{a.ID, key}, nil
}

// parseKey accepts the form in which GitHub issues keys, and PKCS #8. The reason is
// without the parsers' errors: those can contain parts of the text.
func parseKey(text []byte) (key *rsa.PrivateKey, why string) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, "it is no text in PEM form"
	}
	const encrypted = "the key is encrypted with a password"
	switch block.Type {
	case "RSA PRIVATE KEY":
		if block.Headers["DEK-Info"] != "" {
			return nil, encrypted
		}
		key, _ = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		parsed, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = parsed.(*rsa.PrivateKey)
	case "ENCRYPTED PRIVATE KEY":
		return nil, encrypted
	default:
		return nil, "it contains no private key"
	}
	if key == nil {
		return nil, "it is no RSA key, or a damaged one"
	}
	return key, ""
}

// A signer is the credential of an App itself, as opposed to its installation.
type signer struct {
	id  int64
	key *rsa.PrivateKey
}

// A JSON Web Token is valid from a little before it is made, because clocks differ,
// and for less than the ten minutes that GitHub allows.
const (
	jwtBackdated = time.Minute
	jwtLifetime  = 9 * time.Minute
)

// token returns a JSON Web Token.
func (s *signer) token(context.Context) (string, error) {
	now := time.Now()
	claims, err := json.Marshal(struct {
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
		Issuer  string `json:"iss"`
	}{now.Add(-jwtBackdated).Unix(), now.Add(jwtLifetime).Unix(), strconv.FormatInt(s.id, 10)})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, s.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", invalid("sign with", "github.app.private_key_file", "the key cannot sign",
			"make another in the settings of the App at GitHub")
	}
	return text + "." + encode(signature), nil
}

func (*signer) refused(string) bool { return false }
