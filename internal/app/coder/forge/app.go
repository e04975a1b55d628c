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

	"hako/run/fault"
)

// An App is a GitHub App, which has a key and is given tokens that last for an
// hour. However it is printed, its key does not show.
type App struct {
	ID           int64  // needed
	Installation int64  // which of its installations; needed
	Key          []byte `json:"-"` // its private key, PEM; needed
}

// String names the App.
func (a App) String() string { return "App " + strconv.FormatInt(a.ID, 10) }

// Format implements fmt.Formatter: no verb shows more than another.
func (a App) Format(f fmt.State, _ rune) { f.Write([]byte(a.String())) }

// signer checks the App, and returns what asserts that we are it.
func (a App) signer() (*signer, error) {
	for name, number := range map[string]int64{"github.app.id": a.ID, "github.app.installation_id": a.Installation} {
		if number <= 0 {
			return nil, &fault.Error{Kind: fault.Invalid, Op: "configure", Subject: name, Why: "it is not the number of one",
				Hint: "see the settings of the App and of its installation at GitHub"}
		}
	}
	key, why := readKey(a.Key)
	if why != "" {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "read", Subject: "github.app.private_key_file", Why: why,
			Hint: "make a private key in the settings of the App at GitHub, and name the .pem file that you get"}
	}
	return &signer{a.ID, key}, nil
}

// readKey reads the form in which GitHub hands keys out, and the one into which
// tools turn them. What is wrong is said without what the parsers say: that can
// have parts of the text in it.
func readKey(text []byte) (key *rsa.PrivateKey, why string) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, "it is no text in PEM form"
	}
	switch block.Type {
	case "RSA PRIVATE KEY":
		if block.Headers["DEK-Info"] != "" {
			return nil, "the key is locked with a password"
		}
		key, _ = x509.ParsePKCS1PrivateKey(block.Bytes)
	case "PRIVATE KEY":
		any, _ := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, _ = any.(*rsa.PrivateKey)
	case "ENCRYPTED PRIVATE KEY":
		return nil, "the key is locked with a password"
	default:
		return nil, "there is no private key in it"
	}
	if key == nil {
		return nil, "it is no RSA key, or a damaged one"
	}
	return key, ""
}

// A signer is the pass of an App that speaks for itself.
type signer struct {
	id  int64
	key *rsa.PrivateKey
}

// An assertion is valid from a little before it is made, because clocks differ,
// and for less than the ten minutes that GitHub allows.
const (
	backdated = time.Minute
	asserted  = 9 * time.Minute
)

// token returns a JSON web token: three parts, the last of which signs the others.
func (s *signer) token(context.Context) (string, error) {
	now := time.Now()
	claims, err := json.Marshal(struct {
		Issued  int64  `json:"iat"`
		Expires int64  `json:"exp"`
		Issuer  string `json:"iss"`
	}{now.Add(-backdated).Unix(), now.Add(asserted).Unix(), strconv.FormatInt(s.id, 10)})
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, s.key, crypto.SHA256, sum[:])
	if err != nil {
		return "", &fault.Error{Kind: fault.Invalid, Op: "sign with", Subject: "github.app.private_key_file",
			Why: "the key is of no use", Hint: "make another in the settings of the App at GitHub"}
	}
	return text + "." + encode(signature), nil
}

func (*signer) refused(string) bool { return false }
