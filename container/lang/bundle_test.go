package lang

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hako/run/fault"
)

// authority makes a certificate, and the key to it, in PEM form.
func authority(t testing.TB, name string) (cert, key []byte) {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name}, IsCA: true,
		BasicConstraintsValid: true,
		NotBefore:             time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC),
		NotAfter:              time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &k.PublicKey, k)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, []byte("# a remark\n")) }

func TestBundle(t *testing.T) {
	a, _ := authority(t, "Company A")
	b, _ := authority(t, "System B")
	damaged := []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	bundle, store, err := Bundle(join(a, a), join(b, damaged, a))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bundle, append(bytes.Clone(a), b...)) {
		t.Errorf("got\n%s", bundle)
	}
	_, again, _ := Bundle(a, b)
	if !bytes.Equal(store, again) {
		t.Error("the same certificates make different stores")
	}
	if bundle, _, err := Bundle(nil, b); err != nil || !bytes.Equal(bundle, b) {
		t.Errorf("without any added: %v\n%s", err, bundle)
	}
}

func TestBundleRefuses(t *testing.T) {
	cert, key := authority(t, "Company")
	for what, c := range map[string]struct {
		text []byte
		why  string
	}{
		"key":           {join(cert, key), "private key"},
		"old key":       {join(cert, bytes.ReplaceAll(key, []byte("PRIVATE"), []byte("RSA PRIVATE"))), "private key"},
		"request":       {bytes.ReplaceAll(cert, []byte("CERTIFICATE"), []byte("CERTIFICATE REQUEST")), "not a certificate"},
		"cut off":       {join(cert, cert[:len(cert)/2]), "cut off"},
		"no PEM":        {[]byte("0\x82\x01\x00binary"), "no certificate in PEM form"},
		"no meaning":    {[]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), "not understood"},
		"key in no PEM": {key[:len(key)/2], "cut off"},
	} {
		bundle, store, err := Bundle(c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.why) || fault.KindOf(err) != fault.Invalid ||
			fault.Hint(err) == "" {
			t.Errorf("%s: got %v, want something about %q", what, err, c.why)
		}
		if bundle != nil || store != nil {
			t.Errorf("%s: there is a result as well", what)
		}
	}
}

// Java itself reads the store.
func TestTrustStoreIsReadByJava(t *testing.T) {
	keytool, err := exec.LookPath("keytool")
	if err != nil {
		if os.Getenv("HAKO_REQUIRE_TOOLS") == "1" {
			t.Fatal("there is no keytool")
		}
		t.Skip("there is no keytool")
	}
	a, _ := authority(t, "Company A")
	b, _ := authority(t, "System B")
	_, store, err := Bundle(a, b)
	if err != nil {
		t.Fatal(err)
	}
	list := func(store []byte) (string, error) {
		file := filepath.Join(t.TempDir(), "ca.jks")
		if err := os.WriteFile(file, store, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(keytool, "-J-Duser.language=en", "-list", "-v", "-keystore", file, "-storetype", "JKS",
			"-storepass", storePassword)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	out, err := list(store)
	for _, want := range []string{"contains 2 entries", "Alias name: hako-0001", "Owner: CN=Company A",
		"Owner: CN=System B", "Entry type: trustedCertEntry", "Creation date: Jan 2, 2020"} {
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("there is no %q (%v) in\n%s", want, err, out)
		}
	}
	store[len(store)/2] ^= 1
	if out, err := list(store); err == nil {
		t.Errorf("damage is not noticed:\n%s", out)
	}
}

func FuzzBundle(f *testing.F) {
	cert, key := authority(f, "Company")
	f.Add(cert, key)
	f.Add(append(bytes.Clone(cert), cert...), cert)
	f.Add([]byte("-----BEGIN"), []byte{0})
	f.Fuzz(func(t *testing.T, extra, system []byte) {
		bundle, _, err := Bundle(extra, system)
		if err != nil {
			return
		}
		if bytes.Contains(bundle, []byte("PRIVATE")) {
			t.Errorf("a key got through:\n%s", bundle)
		}
		if again, _, err := Bundle(bundle, nil); err != nil || !bytes.Equal(again, bundle) {
			t.Errorf("the result is not taken back: %v", err)
		}
	})
}
