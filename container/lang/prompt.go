package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Prompt returns the instructions for running commands: the allowed ones, as lines, and how to install libraries.
func Prompt(allowed string, l Language) string {
	fill := strings.NewReplacer(
		"{allowed_commands_list}", strings.TrimSpace(allowed),
		"{environment}", l.Name+" ("+l.Description+")",
		"{package_instructions}", strings.TrimSpace(l.Packages))
	return fill.Replace(systemPrompt)
}

// Table returns the part of the planning prompt about choosing an environment.
func Table(list []Language) string {
	var b strings.Builder
	b.WriteString("## Execution Environment Selection\n\n" +
		"You must select an appropriate execution environment for this task. The following environments are available:\n\n" +
		"| Environment | Image | Recommended For |\n" +
		"|------------|-------|-----------------|\n")
	for _, l := range list {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(l.Name), cell(l.Image), cell(strings.Join(l.Use, ", ")))
	}
	return b.String()
}

// cell escapes a text for a table.
func cell(text string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "|", "\\|")), " ")
}

// Choose returns the requested environment if it is available, else the fallback, else the first one, with a warning.
// The name is empty only if none is available.
func Choose(asked string, available map[string]string, fallback string) (name, warning string) {
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(available)), func(n string) bool { return !isName(n) })
	if i := slices.IndexFunc(names, func(n string) bool { return strings.EqualFold(n, asked) }); i >= 0 {
		return names[i], ""
	}
	if len(names) == 0 {
		return "", "no execution environment is available"
	}
	name = fallbackName(names, fallback)
	if asked == "" {
		return name, "no execution environment was selected; " + name + " is used"
	}
	return name, fmt.Sprintf("there is no execution environment %.40q (there are: %s); %s is used", asked,
		strings.Join(names, ", "), name)
}

// fallbackName returns the fallback if it exists, else the first environment that is offered.
func fallbackName(names []string, fallback string) string {
	if slices.Contains(names, fallback) {
		return fallback
	}
	all, _ := All() // if it fails, the first name is used
	for _, l := range all {
		if slices.Contains(names, l.Name) {
			return l.Name
		}
	}
	return names[0]
}
