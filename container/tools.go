package container

import (
	_ "embed"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"hako/container/lang"
	"hako/internal/editor"
)

// A Function describes a tool for function calling.
type Function struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// A Tool is a Function in OpenAI's form.
type Tool struct {
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// executeCommand is the name of the tool that runs commands.
const executeCommand = "command-executor_execute_command"

//go:embed execute_command.md
var executeText string

const executeSchema = `{"type":"object","properties":{` +
	`"command":{"type":"string","description":"The shell command to run"},` +
	`"working_directory":{"type":"string","description":"Where to run it; absolute, in /workspace. Default: /workspace/project"}},` +
	`"required":["command"],"additionalProperties":false}`

// Functions describes the tool that runs commands. It is empty unless containers are enabled.
func (d *Manager) Functions() []Function {
	if !d.Enabled {
		return nil
	}
	return []Function{{executeCommand, strings.TrimSpace(executeText), json.RawMessage(executeSchema)}}
}

// Tools returns Functions in OpenAI's form.
func (d *Manager) Tools() []Tool { return wrap(d.Functions()) }

// TextEditorEnabled reports whether models are offered the text editor.
func (d *Manager) TextEditorEnabled() bool { return d.Enabled }

// TextEditorFunctions describes the text editor.
func (d *Manager) TextEditorFunctions() []Function {
	if !d.TextEditorEnabled() {
		return nil
	}
	t := editor.Definition()
	return []Function{{t.Name, t.Text, t.Schema}}
}

// TextEditorTools returns TextEditorFunctions in OpenAI's form.
func (d *Manager) TextEditorTools() []Tool { return wrap(d.TextEditorFunctions()) }

func wrap(list []Function) (out []Tool) {
	for _, f := range list {
		out = append(out, Tool{"function", f})
	}
	return out
}

// Allowed are the commands that the policy allows.
type Allowed struct {
	Commands map[string][]string // by kind: build_package, test…
	Text     string              // as lines of a prompt
}

// AllowedCommands returns the commands that the policy allows, by kind.
func (d *Manager) AllowedCommands() map[string][]string { return d.allowed().Commands }

// AllowedCommandsText returns the allowed commands as lines of a prompt.
func (d *Manager) AllowedCommandsText() string { return d.allowed().Text }

func (d *Manager) allowed() Allowed {
	if d.Allowed == nil {
		return Allowed{}
	}
	return d.Allowed()
}

// SystemPrompt returns the instructions for running commands in an environment. It is empty unless containers are
// enabled.
func (d *Manager) SystemPrompt(environment string) string {
	if !d.Enabled {
		return ""
	}
	return lang.Prompt(d.AllowedCommandsText(), d.language(environment))
}

// SelectionPrompt returns the instructions for choosing an environment.
func (d *Manager) SelectionPrompt() string { return lang.Table(d.EnvironmentList()) }

func sortedNames(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
