package preset

import (
	"fmt"
	"strings"
	"testing"
)

const (
	goText = "// Package box holds things.\npackage box\n\nimport \"fmt\"\n\nfunc Open(name string) error {\n\treturn fmt.Errorf(\"no %s\", name)\n}\n"
	pyText = "import sys\n\nclass Box(object):\n    def open(self, name):\n        return name\n\nif __name__ == '__main__':\n    print(Box().open(sys.argv[1]))\n"
	csv    = "name,age,city\nAnna,31,Köln\n\"Smith, J\",44,Leeds\n"
	uni    = "--- a/x.go\t2026-01-01\n+++ b/x.go\n@@ -1,3 +1,4 @@ func x\n a\n-b\n+c\n"
	prose  = "The box came on Monday, and nobody knew who had sent it.\nWe opened it, of course; there was another box inside.\nFor a while we just looked at it (it was blue).\n"
	jaText = "箱は月曜日に届いた。誰が送ったのかは、誰も知らなかった。\nもちろん開けてみた。中にはもう一つ、青い箱が入っていた。\nしばらくの間、みんなで眺めていた（とても静かだった）。\n"
	logs   = "2026-01-31T09:00:00Z INFO start\n2026-01-31T09:00:01Z ERROR disk full\n  at box.go:12\n"
)

var kinds = []struct{ name, head, want string }{
	// by name
	{"fix.patch", "", diffPatch}, {"a.DIFF", "", diffPatch}, {"main.go", "", codeReview}, {"dir/Makefile", "", codeReview},
	{`C:\src\a.CPP`, "", codeReview}, {"Dockerfile", "", codeReview}, {"CMakeLists.txt", "", codeReview},
	{"x.csv", "", dataProc},
	{"売上.tsv", "", dataProc}, {"a.json", "", dataProc}, {"app.log", prose, dataProc}, {"app.log.1", "", dataProc},
	{"app.log.2026-01-31", "", dataProc}, {"/var/log/syslog", "", dataProc}, {"README.md", uni, general},
	{"README", "", general},
	{"a.txt", "", general}, {"", "", general}, {"-", "", general}, {"main.go.txt", "", general}, {".go", "", codeReview},
	{"v1.2", "", general},

	// diffs
	{"-", uni, diffPatch}, {"a.txt", uni, diffPatch}, {"", strings.ReplaceAll(uni, "\n", "\r\n"), diffPatch},
	{"", "commit 1234\nAuthor: A <a@example.com>\n\n    a: fix\n\ndiff --git a/a b/a\nindex 1..2 100644\n", diffPatch},
	{"", "From 1234 Mon Sep 17\nSubject: [PATCH] a\n\n---\n a | 2 +-\n\n" + uni, diffPatch},
	{"", "*** a\t2026\n--- b\t2026\n***************\n*** 1,2 ****\n! x\n--- 1,2 ----\n! y\n", diffPatch},
	{"", "2c2\n< b\n---\n> c\n", diffPatch}, {"", "4,5d3\n< x\n< y\n", diffPatch},
	{"", "@@ -1 +1 @@\n-a\n+b\n", diffPatch},
	{"", "diff --cc a\n@@@ -1,2 -1,2 +1,3 @@@\n", diffPatch}, {"", uni[:len("--- a/x.go\t2026-01-01\n+++ b/x.go\n")],
		diffPatch},
	{"", "--- a/日本語.txt\n+++ b/日本語.txt\n@@ -1 +1 @@\n-箱\n+函\n", diffPatch},
	{"", "old text\n---LLMCMD_DIFF_SEPARATOR---\nnew text\n", diffPatch},
	{"notes.md", "a\n---LLMCMD_PATCH_SEPARATOR---\nb\n", diffPatch},
	{"", "--- \nA title\n--- \n", general}, {"", "*** stars ***\n--- dashes ---\nand so on\n", general},

	// code
	{"-", goText, codeReview}, {"", pyText, codeReview}, {"a.txt", goText, codeReview},
	{"", "\ufeff" + pyText, codeReview},
	{"", "#!/bin/sh\necho hello\n", codeReview}, {"run", "#!/usr/bin/env python3\nprint('箱')\n", codeReview},
	{"", "<?php\necho 1;\n", codeReview},
	{"", "#include <stdio.h>\nint main(void) {\n\tputs(\"x\");\n\treturn 0;\n}\n", codeReview},
	{"", "const a = require('a');\nmodule.exports = function () {\n  return a();\n};\n", codeReview},
	{"", "import { a } from './a';\n\nexport default function App() {\n  return a;\n}\n", codeReview},
	{"", "use std::io;\n\nfn main() {\n    println!(\"x\");\n}\n", codeReview},
	{"", "public class Box {\n    private int n;\n    public int get() {\n        return n;\n    }\n}\n", codeReview},
	{"", "// 箱を開ける\nfunc 開ける() error {\n\treturn nil // 何もしない\n}\n", codeReview},
	{"", "CREATE TABLE box (\n  id int,\n  name text\n);\nSELECT name FROM box;\n", codeReview},
	{"", "class Box\n  def open\n    puts 'x'\n  end\nend\n", codeReview},
	{"", "set -e\ndeploy() {\n  echo $1\n}\nif [ -f x ]; then\n  deploy x\nfi\n", codeReview},

	// data
	{"-", csv, dataProc}, {"", "氏名,年齢,住所\n山田太郎,31,東京都\n鈴木花子,28,大阪府\n", dataProc}, {"", "a,b\n1,2\n3,4\n", dataProc},
	{"", "a,b,c\n1,2,3", dataProc}, {"", "a\tb\n1\t2\n", dataProc}, {"", "商品\t数量\r\n箱\t3\r\n", dataProc},
	{"", "id;name\n1;x\n2;y\n", dataProc},
	{"", "a,b,c\n1,2,3\n4,5,6\n7,8", dataProc}, {"", "a\tb\tc\nx\t\t\ny\t1\t2\n", dataProc},
	{"", `{"name": "箱", "items": [1, 2`, dataProc}, {"", `[{"a":1},{"a":2}]`, dataProc},
	{"", "{\"a\":1}\n{\"a\":2}\n{\"a\":", dataProc},
	{"", "  [1, 2, 3]\n", dataProc}, {"", `{"a": tru`, dataProc}, {"", "<?xml version=\"1.0\"?>\n<a/>\n", dataProc},
	{"a.txt", logs, dataProc}, {"", "2026-01-31 09:00:00,123 エラー ディスクがいっぱいです\n", dataProc},
	{"", "Jan 31 09:00:01 host sshd[1]: x\nJan  1 09:00:02 host sshd[1]: y\n", dataProc},
	{"", "10.0.0.1 - - [31/Jan/2026:09:00:00 +0900] \"GET / HTTP/1.1\" 200 1\n", dataProc},
	{"", "[2026/01/31 09:00:00] 開始\n[2026/01/31 09:00:05] 終了\n", dataProc},
	{"", "2026年1月31日 9時00分 起動しました\n2026年1月31日 9時05分 停止しました\n", dataProc},
	{"", "INFO: starting\nWARN: slow\nERROR: gone\n", dataProc}, {"", "ts=1 level=info msg=x\nts=2 level=warn msg=y\n",
		dataProc},
	{"", "E0131 09:00:00.123456 1 a.go:1] x\nI0131 09:00:00.123456 1 a.go:1] y\n", dataProc},

	// neither
	{"-", prose, general}, {"", jaText, general}, {"", "Dear Bob,\nthank you, Al\n", general},
	{"", "Roses are red,\nviolets are blue,\nsugar is sweet,\n", general},
	{"", "\tindented\n\ttext\n", general}, {"", "[1] See the book.\n[2] See the other.\n", general},
	{"", "{braces} in prose\n", general},
	{"", "{", general}, {"", "\n\n\t\n", general}, {"", "2026-01-31 今日は晴れ。\n2026-02-01 今日は雨。\n", general},
	{"", "Class notes:\nfor example:\nimport duties (see above)\n", general}, {"", "- one\n- two\n", general},
	{"", "買うもの: 牛乳、卵、パン\n予算は1,000円以内\n", general}, {"", "\xff\xfe\x00", general},
	{"", "Errors are bad.\nInfo is good.\n", general},
}

func TestKinds(t *testing.T) {
	for _, tt := range kinds {
		if got := Auto([]Sample{{tt.name, []byte(tt.head)}}); got != tt.want {
			t.Errorf("%q %q: %s, want %s", tt.name, tt.head, got, tt.want)
		}
	}
}

// A head may end anywhere: half of it or more must mean the same.
func TestCutHeads(t *testing.T) {
	step := 5
	if testing.Short() {
		step = 101
	}
	for _, tt := range []struct{ text, want string }{
		{strings.Repeat(csv[14:], 20), dataProc}, {strings.Repeat(logs, 20), dataProc},
		{strings.Repeat(goText, 5), codeReview},
		{strings.Repeat(pyText, 5), codeReview}, {strings.Repeat(prose, 20), general}, {strings.Repeat(jaText, 20), general},
		{`{"a":[` + strings.Repeat(`{"b":"箱","c":true,"d":-1.5e3},`, 50), dataProc}, {strings.Repeat(uni, 5), diffPatch},
	} {
		for n := len(tt.text) / 2; n <= len(tt.text); n += step {
			if got := Auto([]Sample{{Head: []byte(tt.text[:n])}}); got != tt.want {
				t.Fatalf("%q: %s, want %s", tt.text[:n], got, tt.want)
			}
		}
	}
}

func TestAuto(t *testing.T) {
	of := func(s string) (all []Sample) {
		for name := range strings.FieldsSeq(s) {
			head := map[string]string{"prose": prose, "csv": csv, "go": goText, "diff": uni}[name]
			all = append(all, Sample{name, []byte(head)})
		}
		return all
	}
	for samples, want := range map[string]string{
		"":                  general,
		"prose":             general,
		"prose csv":         dataProc,
		"go prose prose":    codeReview,
		"go csv":            general,
		"go go csv":         codeReview,
		"csv go a.json":     dataProc,
		"go go csv diff":    diffPatch,
		"a.go b.go go.json": codeReview,
		"old.txt fix.patch": diffPatch,
	} {
		if got := Auto(of(samples)); got != want {
			t.Errorf("%q: %s, want %s", samples, got, want)
		}
	}
}

// FuzzAuto: whatever the input, one of our own is picked, and always the same.
func FuzzAuto(f *testing.F) {
	for _, tt := range kinds {
		f.Add(tt.name, []byte(tt.head))
	}
	f.Fuzz(func(t *testing.T, name string, head []byte) {
		s := []Sample{{name, head}}
		got := Auto(s)
		if _, err := Find(got, nil); err != nil || got != Auto(s) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func BenchmarkAuto(b *testing.B) {
	for _, text := range []string{csv, goText, prose, jaText, logs} {
		head := []byte(strings.Repeat(text, 4096/len(text)))
		b.Run(fmt.Sprintf("%.8q", text), func(b *testing.B) {
			for b.Loop() {
				Auto([]Sample{{Head: head}})
			}
		})
	}
}
