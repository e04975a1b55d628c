package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hako/run/fault"
	"hako/shell"
	"hako/shell/spec"
)

const testSpec = `name: x
options: a b c: d: e? n: r: f,fail g h
status: 3
`

// parse parses words into a text that shows what every kind of binding set.
func parse(words string) (shown, stderr string, err error) {
	var out bytes.Buffer
	c := &shell.Call{Name: "x", Args: strings.Fields(words), Spec: spec.MustParse(testSpec), Stderr: &out}
	var flag, one, two bool
	var text, calls string
	var list []string
	number, ranged, letter := 0, int64(0), byte('0')
	operands, err := Parse(c, Flags{
		"a": &flag, "b": []*bool{&one, &two}, "c": &text, "d": &list, "h": Set(&letter, 'h'),
		"e g": func(o Option) error { calls += o.Name + "=" + o.Value + " "; return nil },
		"n":   Number(&number, 1, 9, "bad number '%s'"),
		"r":   NumberInRange(&ranged, 1, 9, "bad number '%s'"),
		"f":   func() error { return &fault.Error{Kind: fault.Exhausted, Op: "hold"} },
	})
	shown = fmt.Sprintf("%v %v %q %q %q %d %d %c %q", flag, one && two, text, list, calls, number, ranged, letter, operands)
	return shown, out.String(), err
}

func TestParse(t *testing.T) {
	for words, want := range map[string]string{
		"p":                         `false false "" [] "" 0 0 0 ["p"]`,
		"-ab -c v p q":              `true true "v" [] "" 0 0 0 ["p" "q"]`,
		"-d 1 -d 2":                 `false false "" ["1" "2"] "" 0 0 0 []`,
		"-ex -g -h -n 5 -r 7 -- -a": `false false "" [] "e=x g= " 5 7 h ["-a"]`,
	} {
		got, stderr, err := parse(words)
		if got != want || stderr != "" || err != nil {
			t.Errorf("%s: %q, %q, %v, want %q", words, got, stderr, err, want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for words, want := range map[string]string{
		"-q":    "x: invalid option -- 'q'\nTry 'x --help' for more information.\n",
		"-n 0":  "x: bad number '0'\n",
		"-n z":  "x: bad number 'z'\n",
		"-r 10": "x: bad number '10': Numerical result out of range\n",
		"-r z":  "x: bad number 'z'\n",
	} {
		if _, stderr, err := parse(words); stderr != want || !errors.Is(err, shell.Status(3)) {
			t.Errorf("%s: %q, %v", words, stderr, err)
		}
	}
	if _, stderr, err := parse("--fail"); stderr != "" || fault.KindOf(err) != fault.Exhausted {
		t.Errorf("an error that ends the script: %q, %v", stderr, err)
	}
}

func TestFlagsFindWholeNames(t *testing.T) {
	flags := Flags{"ab c": 1, "abc": 2}
	for name, want := range map[string]any{"ab": 1, "c": 1, "abc": 2, "a": nil, "b": nil} {
		if got := flags.find(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestParseBytes(t *testing.T) {
	for text, want := range map[string]int64{"10": 10, "4K": 4096, "4k": 4096, "1kB": 1000, "2MiB": 2 << 20, "K": 1024,
		"10c": 10, "10B": 10, "0": 0} {
		if n, ok := ParseBytes(text); n != want || !ok {
			t.Errorf("%s: %d, %v", text, n, ok)
		}
	}
	bad := []string{"", "c", "B", "x", "10b", "10w", "1KiX", "-1", "9999999999999999999", "8E"}
	if i := slices.IndexFunc(bad, func(text string) bool { _, ok := ParseBytes(text); return ok }); i >= 0 {
		t.Errorf("%q is accepted", bad[i])
	}
}
