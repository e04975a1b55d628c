package tool

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"
)

// TestExecuteTextOnly looks for options that let a model see what is not text.
func TestExecuteTextOnly(t *testing.T) {
	noise := strings.Repeat("\x01\x02\x93\xff\n", 40) // no NUL in it
	e, _ := newExecutor(t, map[string]string{"bin.dat": "abc\x00def\nxyz\n", "noise.dat": noise, "a.txt": "abc\n"}, nil)
	for _, command := range []string{
		"cat bin.dat", "grep -a -m1 '' noise.dat", "grep '' noise.dat", "grep -az '' bin.dat", "grep -z '' bin.dat",
		"egrep --text . bin.dat",
		"fgrep --binary-files=text abc bin.dat", "grep -c '' bin.dat", "grep -e abc a.txt bin.dat", "grep -f bin.dat a.txt",
		"head -c 20 bin.dat",
		"tail -c 20 bin.dat", "diff -a bin.dat a.txt", "iconv -f LATIN1 bin.dat", "wc -l bin.dat", "wc -lc bin.dat",
		"sort bin.dat",
		"awk '{print}' x=1 bin.dat", "sed -n p bin.dat", "jq -n --rawfile a bin.dat '$a'",
	} {
		out := e.Call(t.Context(), Input{Command: command})
		if out.OK || out.StdoutText != "" ||
			!strings.Contains(out.StderrText, ".dat: the file is not text\nhint: only text can be read here") {
			t.Errorf("%s: %+v", command, out)
		}
	}
	for command, want := range map[string]string{"wc -c bin.dat": "12 bin.dat\n", "grep -a b a.txt": "abc\n",
		"grep -az b a.txt": "abc\n\x00", "head -c 2 a.txt": "ab"} {
		if out := e.Call(t.Context(), Input{Command: command}); out.StdoutText != want {
			t.Errorf("%s: %+v", command, out)
		}
	}
}

func TestExecuteCharsets(t *testing.T) {
	const want = "日本語の行\nエラー発生\n"
	sjis, _ := japanese.ShiftJIS.NewEncoder().String(want)
	euc, _ := japanese.EUCJP.NewEncoder().String(want)
	e, _ := newExecutor(t, map[string]string{"sjis": sjis, "euc": euc, "utf8": want,
		"latin": "caf\xe9 \xff\xfe\xfd au lait\n"}, nil)
	size := int64(9)
	for _, tt := range []struct {
		in   Input
		note string
	}{
		{Input{Command: "cat sjis"}, "iconv -f SHIFT_JIS -t UTF-8"},
		{Input{Command: "cat euc"}, "iconv -f EUC-JP -t UTF-8"},
		{Input{Command: "cat sjis", Start: 1, Size: &size}, "iconv -f SHIFT_JIS -t UTF-8"},
		{Input{Command: "cat euc", Start: 1, Size: &size}, "iconv -f EUC-JP -t UTF-8"},
		{Input{Command: "cat utf8"}, ""},
		{Input{Command: "cat latin"}, ""},
	} {
		out := e.Call(t.Context(), tt.in)
		if !out.OK || !strings.Contains(out.StderrText, tt.note) || (tt.note == "") != (out.StderrText == "") {
			t.Errorf("%+v: %+v", tt.in, out)
		}
	}
	for _, command := range []string{"iconv -f SHIFT_JIS -t UTF-8 sjis", "iconv -f euc-jp euc"} {
		if out := e.Call(t.Context(), Input{Command: command}); out.StdoutText != want || out.StderrText != "" {
			t.Errorf("%s: %+v", command, out)
		}
	}
	if out := e.Call(t.Context(), Input{Command: "iconv -f SJIS sjis | grep エラー"}); out.StdoutText != "エラー発生\n" {
		t.Errorf("%+v", out)
	}
	if out := e.Call(t.Context(), Input{Command: "iconv -f SJIS -o x sjis"}); out.Error == nil ||
		!strings.Contains(out.Error.Why, "it writes a file") {
		t.Errorf("%+v", out)
	}
}

// TestExecuteFileIsNamed keeps a command from reading nothing instead of the file
// that the call is about.
func TestExecuteFileIsNamed(t *testing.T) {
	e, c := newExecutor(t, map[string]string{"a b.txt": "1\n"}, nil)
	for _, command := range []string{"cat", "grep 1 | head -n 1", "wc -l -", "tr a b"} {
		out := e.Call(t.Context(), Input{Command: command, File: "a b.txt"})
		if out.Error == nil || out.ExitCode != 2 || out.Error.Hint != "name the file in the command, as in: cat 'a b.txt'" ||
			len(c.scripts) > 0 {
			t.Errorf("%s: %+v, ran %q", command, out, c.scripts)
		}
	}
	if out := e.Call(t.Context(), Input{Command: "cat 'a b.txt' | wc -l", File: "a b.txt"}); out.StdoutText != "1\n" {
		t.Errorf("%+v", out)
	}
	e.Stdin = strings.NewReader("2\n")
	if out := e.Call(t.Context(), Input{Command: "cat", File: "a b.txt"}); out.StdoutText != "2\n" {
		t.Errorf("%+v", out)
	}
}

func TestExecuteRules(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	for command, rule := range map[string]string{
		"rm a.txt": "execute:commands", "sort -o b a.txt": "execute:options", "cat b.txt": "execute:files",
		"cat a.txt > b":   "execute:syntax",
		"sed 'w b' a.txt": "execute:sed", "curl http://a.example/": "execute:urls", "uniq a.txt b.txt": "execute:files",
	} {
		if out := e.Call(t.Context(), Input{Command: command}); out.Error == nil || out.Error.Rule != rule ||
			out.ExitCode != 126 {
			t.Errorf("%s: %+v, want %s", command, out.Error, rule)
		}
	}
}

func TestExecuteSizeHint(t *testing.T) {
	e, _ := newExecutor(t, map[string]string{"a.txt": "1\n"}, nil)
	for size, hint := range map[int64]string{0: "leave it out to get 4096 bytes", -1: "leave it out to get 4096 bytes",
		4097: "ask for the rest with start=next_start"} {
		if out := e.Call(t.Context(), Input{Command: "cat a.txt", Size: &size}); out.Error == nil || out.Error.Hint != hint {
			t.Errorf("%d: %+v", size, out.Error)
		}
	}
}
