package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

var sample = []entry{{"hako", []byte("program"), 0o755}, {"LICENSE", []byte("words"), 0o644}}

// The same files give the same bytes, in whatever order they come.
func TestArchivesAreRepeatable(t *testing.T) {
	for _, pack := range []func(string, []entry) ([]byte, string, error){tarGz, zipped} {
		first, suffix, err := pack("hako_1", sample)
		if err != nil {
			t.Fatal(err)
		}
		second, _, err := pack("hako_1", []entry{sample[1], sample[0]})
		if err != nil || !bytes.Equal(first, second) {
			t.Errorf("%s: two archives of the same files differ (%v)", suffix, err)
		}
	}
}

func TestTarGz(t *testing.T) {
	packed, _, err := tarGz("hako_1", sample)
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(z)
	for _, want := range []string{"hako_1/LICENSE 644 words", "hako_1/hako 755 program"} {
		h, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		if got := h.Name + " " + strings.TrimPrefix(oct(h.Mode), "0") + " " + string(text); got != want || h.Uid != 0 ||
			h.Uname != "" {
			t.Errorf("%s of %d %q, want %s of nobody", got, h.Uid, h.Uname, want)
		}
	}
}

func oct(mode int64) string {
	return string([]byte{'0' + byte(mode>>6), '0' + byte(mode>>3&7), '0' + byte(mode&7)})
}

func TestZip(t *testing.T) {
	packed, _, err := zipped("hako_1", sample)
	if err != nil {
		t.Fatal(err)
	}
	r, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil || len(r.File) != 2 || r.File[1].Name != "hako_1/hako" || r.File[1].Mode().Perm() != 0o755 {
		t.Errorf("%v %v", r, err)
	}
}

// The list of parts comes from the program: here, from this test.
func TestSBOM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := sbom(program)
	if err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	if b.Format != "CycloneDX" || b.Components[0].Name != "std" ||
		"go"+b.Components[0].Version != strings.Fields(runtime.Version())[0] {
		t.Errorf("%s", text)
	}
	if len(b.Metadata.Component.Hashes) != 1 || len(b.Metadata.Component.Hashes[0].Content) != 64 {
		t.Errorf("the program has no hash: %+v", b.Metadata)
	}
}

// A whole release for this platform, twice: the same bytes, and everything in it.
func TestRelease(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("long: it builds hako")
	}
	t.Chdir("../..")
	man := t.TempDir()
	if err := os.WriteFile(filepath.Join(man, "hako.1"), []byte(".TH HAKO 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var sums [2]string
	for i := range sums {
		r := release{version: "v1.2.3", platforms: []string{"linux/" + runtime.GOARCH}, man: man, out: t.TempDir()}
		if err := r.make(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(r.out, "checksums.txt"))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(text)
		inspect(t, r.out)
	}
	if sums[0] != sums[1] {
		t.Errorf("two builds differ:\n%s\n%s", sums[0], sums[1])
	}
}

// inspect checks the sums, and what comes out of the archive.
func inspect(t *testing.T, out string) {
	t.Helper()
	name := "hako_1.2.3_linux_" + runtime.GOARCH
	script := "sha256sum -c checksums.txt && tar xzf " + name + ".tar.gz && cd " + name +
		" && ls man/man1/hako.1 completions/hako.bash completions/hako.zsh completions/hako.fish LICENSE hako.yaml.example llmsh && ./hako version"
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = out
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "hako v1.2.3 ") {
		t.Errorf("%v: %s", err, text)
	}
	bill, err := os.ReadFile(filepath.Join(out, name+".cdx.json"))
	if err != nil || !strings.Contains(string(bill), "pkg:golang/github.com/spf13/cobra@v") {
		t.Errorf("%v: the list of parts lacks cobra", err)
	}
}
