package fakes

import (
	"fmt"
	"slices"
	"strings"
)

// checkRequest checks an OpenAI request as a whole.
func checkRequest(on string, fields map[string]any) string {
	names := toolNames(fields)
	if twice := repeated(names); twice != "" {
		return "tools: there are two called " + twice
	}
	if why := checkChoice(on, fields, names); why != "" {
		return why
	}
	_, newer := fields["max_completion_tokens"]
	_, older := fields["max_tokens"]
	if newer && older {
		return "setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported"
	}
	_, options := fields["stream_options"]
	if options && !digTrue(fields, "stream") {
		return "the 'stream_options' parameter is only allowed when 'stream' is enabled"
	}
	if why := modelMismatch(fields); why != "" {
		return why
	}
	return strictSchemas(fields)
}

// modelMismatch finds parameters that a model of OpenAI does not have: the older ones
// do not reason, and those that do have no temperature.
func modelMismatch(fields map[string]any) string {
	model, foreign := digText(fields, "model"), []string{}
	switch {
	case strings.HasPrefix(model, "gpt-4") || strings.HasPrefix(model, "gpt-3"):
		foreign = []string{"reasoning", "include"}
	case strings.HasPrefix(model, "gpt-5") || strings.HasPrefix(model, "o1") || strings.HasPrefix(model, "o3") ||
		strings.HasPrefix(model, "o4"):
		foreign = []string{"temperature", "top_p", "max_tokens"}
	}
	for _, name := range foreign {
		if fields[name] != nil {
			return fmt.Sprintf("Unsupported parameter: '%s' is not supported with this model.", name)
		}
	}
	return ""
}

func repeated(names []string) string {
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return name
		}
	}
	return ""
}

// checkChoice checks that there are tools to choose from.
func checkChoice(on string, fields map[string]any, names []string) string {
	choice, chosen := chosenTool(fields)
	_, parallel := fields["parallel_tool_calls"]
	switch {
	case len(names) == 0 && on == onChat && (chosen || parallel):
		return "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified"
	case len(names) == 0 && choice == "required":
		return "tool_choice: 'required' needs tools"
	case chosen && !hasWord("auto none required", choice) && !slices.Contains(names, choice):
		return fmt.Sprintf("tool choice '%s' not found in 'tools' parameter", choice)
	}
	return ""
}

// toolNames lists the tools of a request, in any format.
func toolNames(fields map[string]any) []string {
	var names []string
	for _, tool := range digList(fields, "tools") {
		names = append(names, digText(tool, "name")+digText(tool, "function.name"))
	}
	return names
}

// chosenTool returns auto, none, required or the name of the tool that has to be
// called, and whether the request sets it.
func chosenTool(fields map[string]any) (choice string, said bool) {
	switch v := fields["tool_choice"].(type) {
	case nil:
		return "auto", false
	case string:
		return v, true
	default:
		return digText(v, "name") + digText(v, "function.name"), true
	}
}

// strictSchemas checks the schemas that are marked as strict.
func strictSchemas(fields map[string]any) string {
	for _, tool := range digList(fields, "tools") {
		if f, ok := dig(tool, "function"); ok {
			tool = f
		}
		schema, _ := dig(tool, "parameters")
		if why := strictSchema("()", schema); digTrue(tool, "strict") && why != "" {
			return fmt.Sprintf("invalid schema for function '%s': %s", digText(tool, "name"), why)
		}
	}
	for _, path := range []string{"text.format", "response_format.json_schema"} {
		format, _ := dig(fields, path)
		schema, _ := dig(format, "schema")
		if why := strictSchema("()", schema); digTrue(format, "strict") && why != "" {
			return fmt.Sprintf("invalid schema for response_format '%s': %s", digText(format, "name"), why)
		}
	}
	return ""
}

// strictSchema finds what OpenAI does not accept in a strict schema: an object that is
// open, or that does not require all its properties.
func strictSchema(at string, v any) string {
	schema, _ := v.(map[string]any)
	properties, isObject := schema["properties"].(map[string]any)
	if (isObject || schema["type"] == "object") && schema["additionalProperties"] != false {
		return fmt.Sprintf("in context=%s, 'additionalProperties' is required to be supplied and to be false", at)
	}
	required := digList(schema, "required")
	for name, of := range properties {
		if !slices.Contains(required, any(name)) {
			return fmt.Sprintf("in context=%s, 'required' is required to be supplied and to be an array including every key in properties. Missing '%s'", at, name)
		}
		if why := strictSchema(strings.TrimSuffix(at, ")")+"'properties', '"+name+"')", of); why != "" {
			return why
		}
	}
	if items, ok := schema["items"]; ok {
		return strictSchema(strings.TrimSuffix(at, ")")+"'items')", items)
	}
	return ""
}
