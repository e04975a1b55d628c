package main

import (
	"strings"
	"testing"
)

func reportOf(t *testing.T, lines string) (string, bool) {
	t.Helper()
	var out strings.Builder
	r := &report{out: &out, output: map[string][]string{}, skipped: map[string][]string{}}
	if err := r.read(strings.NewReader(lines)); err != nil {
		t.Fatal(err)
	}
	ok := r.close()
	return out.String(), ok
}

const skipping = `{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:7: no Docker here\n"}
{"Action":"skip","Package":"a","Test":"TestX"}
{"Action":"output","Package":"a","Test":"TestL","Output":"    x_test.go:9: long: a minute\n"}
{"Action":"skip","Package":"a","Test":"TestL"}
{"Action":"pass","Package":"a","Test":"TestY"}
{"Action":"pass","Package":"a","Elapsed":1.5}
`

func TestSkipsAreListed(t *testing.T) {
	out, ok := reportOf(t, skipping)
	for _, want := range []string{"no Docker here", "1 test(s), as a.TestX",
		"left to make test-all because they take long: 1 tests", "ok: 1 packages, 1 tests passed, 0 failed, 2 skipped"} {
		if !ok || !strings.Contains(out, want) {
			t.Errorf("%v, lacks %q:\n%s", ok, want, out)
		}
	}
}

func TestFailures(t *testing.T) {
	for name, lines := range map[string]string{
		"a test": `{"Action":"output","Package":"a","Test":"TestX","Output":"    x_test.go:7: wrong\n"}
{"Action":"fail","Package":"a","Test":"TestX"}
{"Action":"fail","Package":"a"}
`,
		"a panic": `{"Action":"output","Package":"a","Output":"panic: wrong\n"}
{"Action":"fail","Package":"a"}
`,
		"a build": `{"Action":"build-output","ImportPath":"a","Output":"wrong\n"}
{"Action":"build-fail","ImportPath":"a"}
`,
		"text": "wrong\n",
	} {
		if out, ok := reportOf(t, lines); ok || !strings.Contains(out, "wrong") || !strings.Contains(out, "\nFAIL: ") {
			t.Errorf("%s: %v\n%s", name, ok, out)
		}
	}
}
