package config

import (
	"slices"
	"strings"

	"hako/run/fault"
)

// Variables that are read beside those of the settings.
const (
	FileVariable  = "HAKO_CONFIG"    // the settings file
	TokenVariable = "HAKO_MCP_TOKEN" // what clients of hako mcp --http have to show
)

// otherVariables are those, what hako sets itself, and what its tests, benchmarks and
// scripts read.
var otherVariables = []string{
	FileVariable, TokenVariable, "HAKO_COMMAND",
	"HAKO_REQUIRE_TOOLS", "HAKO_BENCH", "HAKO_ATTACK", "HAKO_ATTACK_TABLE", "HAKO_SCREENSHOTS", "HAKO_PULL",
	"HAKO_MCP_TOOLS",
}

// testVariables begin the names of variables that tests set.
const testVariables = "HAKO_TEST_"

// variablePrefixes begin the names of variables of hako and of the programs that
// it takes the place of.
var variablePrefixes = []string{"HAKO_", "LLMCMD_", "AICLI_"}

// MisspeltVariables returns a sentence for each variable of an environment, given
// as NAME=value, whose name is nearly that of one that hako reads. Others may be
// set for other programs, or for ${NAME} in a settings file.
func MisspeltVariables(environ []string) (notes []string) {
	var known []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !slices.ContainsFunc(variablePrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if known == nil {
			known = Variables()
		}
		if meant := meantVariable(name, known); meant != "" {
			notes = append(notes, "the variable "+name+" means nothing to hako; did you mean "+meant+"?")
		}
	}
	return notes
}

// Variables lists the names of all variables with such a prefix that are read.
func Variables() []string {
	names := slices.Clone(otherVariables)
	for _, k := range specs() {
		names = append(names, strings.Fields(k.env)...)
	}
	for _, k := range rcKeys() {
		names = append(names, strings.Fields(k.env)...)
	}
	return names
}

// meantVariable returns what an unknown variable was probably meant to be: another
// one, or a setting. Empty means nothing.
func meantVariable(name string, known []string) string {
	if slices.Contains(known, name) || strings.HasPrefix(name, testVariables) {
		return ""
	}
	prefix, rest, _ := strings.Cut(name, "_")
	if setting, env := settingCalled(rest); setting != "" && prefix == "HAKO" {
		if first, _, _ := strings.Cut(env, " "); first != "" {
			return first
		}
		return setting + " in hako.yaml"
	}
	var names []string // without the prefix, which says nothing about what is meant
	for _, k := range known {
		if tail, ok := strings.CutPrefix(k, prefix+"_"); ok {
			names = append(names, tail)
		}
	}
	if near, ok := fault.Nearest(rest, names); ok {
		return prefix + "_" + near
	}
	return ""
}

// settingCalled finds the setting whose name is written as that of a variable.
func settingCalled(variable string) (name, env string) {
	spelled := strings.NewReplacer(".", "_")
	for _, k := range specs() {
		if strings.ToUpper(spelled.Replace(k.name)) == variable {
			return k.name, k.env
		}
	}
	return "", ""
}
