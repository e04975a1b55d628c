package config

import (
	"slices"
	"strings"

	"hako/run/fault"
)

// Environment variables besides those of the settings.
const (
	FileVariable  = "HAKO_CONFIG"    // the settings file
	TokenVariable = "HAKO_MCP_TOKEN" // token of hako mcp --http
)

// otherVariables are these, those that hako sets itself, and those of tests, benchmarks and scripts.
var otherVariables = []string{
	FileVariable, TokenVariable, "HAKO_COMMAND",
	"HAKO_REQUIRE_TOOLS", "HAKO_BENCH", "HAKO_ATTACK", "HAKO_ATTACK_TABLE", "HAKO_SCREENSHOTS", "HAKO_PULL",
	"HAKO_MCP_TOOLS",
}

// testVariables is the prefix of variables of tests.
const testVariables = "HAKO_TEST_"

// variablePrefixes are the prefixes of variables of hako and of the programs that it replaces.
var variablePrefixes = []string{"HAKO_", "LLMCMD_", "AICLI_"}

// MisspeltVariables returns a note for each variable of an environment, given as NAME=value, whose name is similar to
// one that hako reads. Others may be for other programs, or for ${NAME} in a settings file.
func MisspeltVariables(environ []string) (notes []string) {
	var known []string
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		if value == "" || !slices.ContainsFunc(variablePrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
			continue
		}
		if known == nil {
			known = variables()
		}
		if meant := nearestVariable(name, known); meant != "" {
			notes = append(notes, "the variable "+name+" means nothing to hako; did you mean "+meant+"?")
		}
	}
	return notes
}

// variables returns all variables with such a prefix that are read.
func variables() []string {
	names := slices.Clone(otherVariables)
	for _, k := range specs() {
		names = append(names, strings.Fields(k.env)...)
	}
	for _, k := range rcKeys() {
		names = append(names, strings.Fields(k.env)...)
	}
	return names
}

// nearestVariable returns the variable or setting that an unknown variable probably means; empty means none.
func nearestVariable(name string, known []string) string {
	if slices.Contains(known, name) || strings.HasPrefix(name, testVariables) {
		return ""
	}
	prefix, rest, _ := strings.Cut(name, "_")
	if setting, env := settingOfVariable(rest); setting != "" && prefix == "HAKO" {
		if first, _, _ := strings.Cut(env, " "); first != "" {
			return first
		}
		return setting + " in hako.yaml"
	}
	var names []string // without the prefix, which does not distinguish them
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

// settingOfVariable returns the setting whose name, written as a variable, is this.
func settingOfVariable(variable string) (name, env string) {
	spelled := strings.NewReplacer(".", "_")
	for _, k := range specs() {
		if strings.ToUpper(spelled.Replace(k.name)) == variable {
			return k.name, k.env
		}
	}
	return "", ""
}
