package clone

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"

	"hako/internal/ownerfile"
)

// bundles are the files of trusted certificates on various systems.
var bundles = []string{
	"/etc/ssl/certs/ca-certificates.crt",                // Debian, Alpine
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", // Fedora
	"/etc/pki/tls/certs/ca-bundle.crt",
	"/etc/ssl/ca-bundle.pem", // SUSE
	"/etc/ssl/cert.pem",      // BSD, macOS
}

// tlsSettings configure how git verifies servers.
func (s *Store) tlsSettings() ([]setting, error) {
	if s.InsecureTLS {
		return []setting{{"http.sslVerify", "false"}}, nil
	}
	if s.CAFile == "" {
		return nil, nil
	}
	if _, err := s.roots(); err != nil {
		return nil, err
	}
	file, err := s.bundle()
	return []setting{{"http.sslCAInfo", file}}, err
}

// bundle returns a file with the certificates of the system and of CAFile: git takes only one file.
func (s *Store) bundle() (string, error) {
	more, err := os.ReadFile(s.CAFile)
	if err != nil {
		return "", badCA(s.CAFile, "it cannot be read", err)
	}
	var all []byte
	for _, name := range bundles {
		if all, err = os.ReadFile(name); err == nil {
			break
		}
	}
	all = slices.Concat(all, []byte("\n"), more)
	sum := sha256.Sum256(all)
	file := filepath.Join(s.Dir, "ca-"+hex.EncodeToString(sum[:8])+".pem")
	if info, err := os.Stat(file); err == nil && info.Size() == int64(len(all)) {
		return file, nil
	}
	return file, ownerfile.Replace(file, all)
}
