package preset

import (
	"bytes"
	"path"
	"slices"
	"strings"
)

// A Sample is the beginning of an input.
type Sample struct {
	Name string // as the user wrote it; empty or - for standard input
	Head []byte // its first few kilobytes; it may be cut anywhere
}

// Auto picks a preset by what the inputs are. One diff decides: whatever comes
// with it is what it is about. Otherwise the kind that most inputs have does;
// prose does not vote, and code and data in equal numbers make it general.
func Auto(samples []Sample) string {
	votes := make(map[string]int)
	for _, s := range samples {
		votes[kind(s)]++
	}
	switch code, data := votes[codeReview], votes[dataProc]; {
	case votes[diffPatch] > 0:
		return diffPatch
	case code > data:
		return codeReview
	case data > code:
		return dataProc
	}
	return general
}

// kind tells what one input is, by its name if that says it, else by what is in it.
func kind(s Sample) string {
	s.Head = s.Head[:min(len(s.Head), enough)]
	if separated(s.Head) {
		return diffPatch
	}
	if k, ok := byName(s.Name); ok {
		return k
	}
	text := lines(s.Head)
	switch {
	case isDiff(text):
		return diffPatch
	case isScript(text):
		return codeReview
	case isJSON(s.Head), isMarkup(s.Head), isLog(text), isTable(text):
		return dataProc
	case isCode(text):
		return codeReview
	}
	return general
}

// separators stand between the parts of what llmcmd hands to diff and patch.
var separators = [...]string{"---LLMCMD_DIFF_SEPARATOR---", "---LLMCMD_PATCH_SEPARATOR---"}

func separated(head []byte) bool {
	return slices.ContainsFunc(separators[:], func(s string) bool { return bytes.Contains(head, []byte(s)) })
}

// endings are what names of a kind end in. What is not here, .txt for one, says
// nothing.
var endings = map[string]string{
	diffPatch: "diff patch rej",
	codeReview: `go py pyi rb pl pm php js mjs cjs jsx ts mts cts tsx vue svelte java kt kts scala groovy clj cljs c h cc
		cpp cxx hh hpp hxx ino m mm cs fs fsx vb swift rs zig nim d dart lua r jl ex exs erl hrl hs lhs ml mli elm
		lisp el scm rkt sh bash zsh fish ksh ps1 psm1 bat cmd awk sed sql css scss sass less tf hcl proto
		asm s v sv vhd vhdl f f90 f95 pas cob cbl mk cmake gradle dockerfile bas tcl vim`,
	dataProc: "csv tsv psv json jsonl ndjson json5 geojson log xml yaml yml toml ltsv",
	general:  "md markdown rst adoc org tex html htm",
}

// fileNames are those that say it without an ending.
var fileNames = map[string]string{
	codeReview: "makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile rakefile gemfile cmakelists.txt build.bazel justfile",
	dataProc:   "syslog access_log error_log messages",
	general:    "readme license copying changelog",
}

// byName tells the kind by the name of a file.
func byName(name string) (string, bool) {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if k, ok := listed(fileNames, base); ok {
		return k, true
	}
	for range 2 { // app.log.1 is a log, and so is app.log.2024-05-01
		ending := path.Ext(base)
		if k, ok := listed(endings, strings.TrimPrefix(ending, ".")); ok {
			return k, true
		}
		if !strings.ContainsAny(ending, "0123456789") {
			break
		}
		base = strings.TrimSuffix(base, ending)
	}
	return "", false
}

func listed(table map[string]string, word string) (string, bool) {
	for kind, words := range table {
		if word != "" && slices.Contains(strings.Fields(words), word) {
			return kind, true
		}
	}
	return "", false
}

// enough is how many bytes of an input are looked at, and most how many lines.
const (
	enough = 64 << 10
	most   = 200
)

// lines divides a head into lines that are not blank.
func lines(head []byte) []string {
	var all []string
	for line := range strings.Lines(string(bytes.TrimPrefix(head, []byte("\ufeff")))) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		line = strings.TrimRight(line, " \r\n") // a tab may end an empty field
		if all = append(all, line); len(all) == most {
			break
		}
	}
	return all
}
