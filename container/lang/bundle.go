package lang

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"strings"

	"hako/run/fault"
)

// Bundle merges certificates: those a user adds, then those of the system, without duplicates. It returns them as
// PEM, and as a Java key store. The user's file must contain only certificates; unreadable ones of the system are
// skipped.
func Bundle(extra, system []byte) (bundle, store []byte, err error) {
	added, err := certificates(extra)
	if err != nil {
		return nil, nil, err
	}
	var all []*x509.Certificate
	seen := map[string]bool{}
	for _, c := range append(added, parseReadable(system)...) {
		if !seen[string(c.Raw)] {
			seen[string(c.Raw)] = true
			all = append(all, c)
		}
	}
	for _, c := range all {
		bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return bundle, trustStore(all), nil
}

// certificates parses the user's certificates. A private key among them would be readable in every container.
func certificates(text []byte) ([]*x509.Certificate, error) {
	var list []*x509.Certificate
	rest := text
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if strings.Contains(block.Type, "PRIVATE KEY") {
			return nil, invalidCertificate(len(list), "there is a private key in the file",
				"give certificates only: they are mounted into containers")
		}
		if block.Type != "CERTIFICATE" {
			return nil, invalidCertificate(len(list), fmt.Sprintf("%.40q is not a certificate", block.Type), "give certificates only")
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, invalidCertificate(len(list), "it is not understood: "+err.Error(), "check it with openssl x509 -text")
		}
		list = append(list, c)
	}
	if bytes.Contains(rest, []byte("-----BEGIN")) {
		return nil, invalidCertificate(len(list), "it is cut off or damaged", "copy the file again")
	}
	if len(list) == 0 && len(bytes.TrimSpace(text)) > 0 {
		return nil, invalidCertificate(0, "there is no certificate in PEM form", "convert it with openssl x509 -inform der")
	}
	return list, nil
}

func invalidCertificate(before int, why, hint string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read certificate", Subject: fmt.Sprintf("number %d", before+1), Why: why,
		Hint: hint}
}

// parseReadable returns the certificates that can be parsed.
func parseReadable(text []byte) (list []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return list
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			list = append(list, c)
		}
	}
}

// storePassword is Java's default for a store of certificates. It is not a secret.
const storePassword = "changeit"

const (
	storeMagic   = 0xFEEDFEED
	storeVersion = 2
	trustedEntry = 2
)

// trustStore writes a Java key store. Equal certificates make equal bytes: the time of an entry is that of its
// certificate.
func trustStore(list []*x509.Certificate) []byte {
	u32 := binary.BigEndian.AppendUint32
	out := u32(u32(u32(nil, storeMagic), storeVersion), uint32(len(list)))
	for i, c := range list {
		out = appendUTF(u32(out, trustedEntry), fmt.Sprintf("hako-%04d", i+1))
		out = binary.BigEndian.AppendUint64(out, uint64(max(c.NotBefore.UnixMilli(), 0)))
		out = appendUTF(out, "X.509")
		out = append(u32(out, uint32(len(c.Raw))), c.Raw...)
	}
	sum := storeSum(out)
	return append(out, sum[:]...)
}

func appendUTF(out []byte, ascii string) []byte {
	return append(binary.BigEndian.AppendUint16(out, uint16(len(ascii))), ascii...)
}

// storeSum is the checksum of the store, with the salt of the format.
func storeSum(store []byte) [sha1.Size]byte {
	var text []byte
	for _, r := range storePassword {
		text = append(text, 0, byte(r)) // as UTF-16
	}
	return sha1.Sum(append(append(text, "Mighty Aphrodite"...), store...))
}
