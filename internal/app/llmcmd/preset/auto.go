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
	Head []byte // its first few kilobytes
}

// Auto chooses a preset by the inputs. One diff decides. Otherwise the majority of code and data does; prose does
// not count, and a tie means general.
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

// kind classifies an input by its name, else by its content.
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

// separators divide the inputs of llmcmd's diff and patch.
var separators = [...]string{"---LLMCMD_DIFF_SEPARATOR---", "---LLMCMD_PATCH_SEPARATOR---"}

func separated(head []byte) bool {
	return slices.ContainsFunc(separators[:], func(s string) bool { return bytes.Contains(head, []byte(s)) })
}

// endings are file name extensions by preset. Others, such as .txt, decide nothing.
var endings = map[string]string{
	diffPatch: "diff patch rej",
	codeReview: `go py pyi rb pl pm php js mjs cjs jsx ts mts cts tsx vue svelte java kt kts scala groovy clj cljs c h cc
		cpp cxx hh hpp hxx ino m mm cs fs fsx vb swift rs zig nim d dart lua r jl ex exs erl hrl hs lhs ml mli elm
		lisp el scm rkt sh bash zsh fish ksh ps1 psm1 bat cmd awk sed sql css scss sass less tf hcl proto
		asm s v sv vhd vhdl f f90 f95 pas cob cbl mk cmake gradle dockerfile bas tcl vim`,
	dataProc: "csv tsv psv json jsonl ndjson json5 geojson log xml yaml yml toml ltsv",
	general:  "md markdown rst adoc org tex html htm",
}

// fileNames are known file names by preset.
var fileNames = map[string]string{
	codeReview: "makefile gnumakefile dockerfile containerfile jenkinsfile vagrantfile rakefile gemfile cmakelists.txt build.bazel justfile",
	dataProc:   "syslog access_log error_log messages",
	general:    "readme license copying changelog",
}

func byName(name string) (string, bool) {
	base := strings.ToLower(path.Base(strings.ReplaceAll(name, `\`, "/")))
	if k, ok := listed(fileNames, base); ok {
		return k, true
	}
	for range 2 { // app.log.1 and app.log.2024-05-01 are logs
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

// enough is how many bytes of an input are inspected, and most how many lines.
const (
	enough = 64 << 10
	most   = 200
)

// lines returns the lines that are not blank.
func lines(head []byte) []string {
	var all []string
	for line := range strings.Lines(string(bytes.TrimPrefix(head, []byte("\ufeff")))) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		line = strings.TrimRight(line, " \r\n") // keep a tab: it may end an empty field
		if all = append(all, line); len(all) == most {
			break
		}
	}
	return all
}
