package container

import (
	"archive/tar"
	"bytes"
	"io"
	"strings"
	"testing"

	"hako/run/fault"
)

var testBases = []string{"env:latest", "registry.example:5000/other:2"}

func TestRewrite(t *testing.T) {
	for text, want := range map[string]string{
		"FROM env\nRUN make\n": "FROM env\nLABEL l=1\nRUN make\n",
		"\ufeff# syntax=evil/frontend\n# escape=`\n\nfrom env:latest AS Build\r\nrun a \\\n  # why\n\n  b\n": "FROM env:latest AS Build\nLABEL l=1\nRUN a   b\n",
		"ARG A=1\nFROM --platform=linux/amd64 registry.example:5000/other:2\nUSER root":                      "ARG A=1\nFROM --platform=linux/amd64 registry.example:5000/other:2\nLABEL l=1\nUSER root\n",
		"FROM env AS a\nFROM a AS b\nCOPY --from=A --chown=1:1 x y\nCOPY --from=0 x y\nCOPY --from=env x y":  "FROM env AS a\nLABEL l=1\nFROM a AS b\nLABEL l=1\nCOPY --from=A --chown=1:1 x y\nCOPY --from=0 x y\nCOPY --from=env x y\n",
		"FROM env\nRUN a \\\n": "FROM env\nLABEL l=1\nRUN a \n",
	} {
		if got, err := rewrite(text, testBases, "l=1"); err != nil ||
			strings.ReplaceAll(got, " \n", "\n") != strings.ReplaceAll(want, " \n", "\n") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// TestRewriteRefuses tries to reach what belongs to others: images, addresses that
// the engine can reach, disks.
func TestRewriteRefuses(t *testing.T) {
	for text, why := range map[string]string{
		"FROM hako-project:1":                           "neither",
		"FROM env:2":                                    "neither",
		"FROM scratch":                                  "neither",
		"ARG B=env\nFROM ${B}":                          "neither",
		"FROM env\nCOPY --from=secret:1 / /x":           "line 2",
		"FROM env\nCOPY --chown=1 --from=secret / /x":   "neither",
		"FROM env AS secret\nCOPY --from=secret / /x":   "neither", // an engine looks for an image of this name
		"FROM env AS a\nFROM 0":                         "neither", // which is an image's name
		"FROM env\nCOPY --from=0 / /x":                  "neither",
		"FROM env\nCOPY --fr\\om=secret / /x":           "option",
		"FROM env\nCOPY --\"from\"=secret / /x":         "option",
		"FROM env\nCOPY \u00a0--from=secret / /x":       "neither",
		"FROM env\nCOPY --fr\\\nom=secret / /x":         "neither",
		"FROM env\nRUN --mount=from=secret,target=/x a": "option",
		"FROM env\nRUN -- --network=host a":             "option",
		"FROM env\nADD http://169.254.169.254/ /x":      "ADD",
		"FROM env\nadd x y":                             "ADD",
		"FROM env\nVOLUME /data":                        "volume",
		"FROM env AS a\nONBUILD ADD http://x /\nFROM a": "ONBUILD",
		"FROM env\nRUN <<#\nRUN true \\\n#\nFROM evil":  "<<",
		"FROM env\nRUN a \\\\\n":                        "backslash",
		"FROM env\nRUN a\rFROM evil":                    "plain text",
		"FROM env\nINCLUDE x":                           "INCLUDE",
		"FROM env AS":                                   "FROM IMAGE",
		"FROM":                                          "FROM IMAGE",
	} {
		out, err := rewrite(text, testBases, "l=1")
		if fault.KindOf(err) != fault.Denied || !strings.Contains(err.Error(), why) || fault.Hint(err) == "" {
			t.Errorf("%q: %q, %v", text, out, err)
		}
	}
}

// FuzzRewrite checks that what comes out is understood the same way again, and
// has a line for each instruction.
func FuzzRewrite(f *testing.F) {
	f.Add("FROM env AS a\nRUN x \\\n # y\n z\nCOPY --from=env a b\n")
	f.Add("# escape=`\nFROM env\nRUN a \\\\\n\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		once, err := rewrite(text, testBases, "l=1")
		if err != nil {
			return
		}
		twice, err := rewrite(strings.ReplaceAll(once, "\nLABEL l=1\n", "\n"), testBases, "l=1")
		if err != nil || strings.Count(twice, "\n") != strings.Count(once, "\n") && !strings.Contains(text, "l=1") {
			t.Errorf("%q: %q, then %q, %v", text, once, twice, err)
		}
		for line := range strings.Lines(once) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if _, known := instructions[word]; !known || strings.HasSuffix(line, "\\\n") {
				t.Errorf("%q: line %q", text, line)
			}
		}
	})
}

// TestJudged checks that the archive has the Dockerfile that was judged, and none
// besides it.
func TestJudged(t *testing.T) {
	d := &Manager{Options: Options{Images: map[string]string{"x": "env"}}}
	pack := func(names ...string) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, name := range names {
			if err := addFile(w, name, []byte("# "+name+"\nFROM env\n")); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		return b.Bytes()
	}
	if out, err := d.checkedContext(pack("dockerfile", "a")); out != nil || err != nil {
		t.Errorf("no Dockerfile: %d bytes, %v", len(out), err)
	}
	out, err := d.checkedContext(pack("./Dockerfile", "a", "dockerfile", "Dockerfile", "sub/Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	r := tar.NewReader(bytes.NewReader(out))
	for h, err := r.Next(); err == nil; h, err = r.Next() {
		names = append(names, h.Name)
		if text, _ := io.ReadAll(r); h.Name == "Dockerfile" &&
			!strings.HasPrefix(string(text), "FROM env\nLABEL hako.project=") {
			t.Errorf("it says %q", text)
		}
	}
	if got := strings.Join(names, " "); got != "a sub/Dockerfile Dockerfile" {
		t.Error(got)
	}
}
