package fakes

import (
	"fmt"
	"slices"
	"strings"
)

// What the model services accept. Only what their documents name and hako has
// a use for is here: a field that is new to the tests should be a decision.

const (
	toolName  = `^[a-zA-Z0-9_-]{1,64}$`
	cacheKey  = `^[\s\S]{1,64}$`
	efforts   = "none minimal low medium high xhigh"
	functions = "function"
)

var responsesRequest = record{
	"model!":       text,
	"input!":       either(text, list(inputItem)),
	"instructions": text,
	"tools":        list(responsesTool.shape),
	"tool_choice": either(word("auto none required"),
		record{"type!": word(functions), "name!": matching(toolName)}.shape),
	"parallel_tool_calls":  boolean,
	"previous_response_id": matching(`^resp_`),
	"store":                boolean,
	"include":              list(word("reasoning.encrypted_content")),
	"reasoning":            record{"effort": word(efforts), "summary": word("auto concise detailed")}.shape,
	"text":                 record{"format": responsesFormat, "verbosity": word("low medium high")}.shape,
	"max_output_tokens":    integer(16),
	"max_tool_calls":       integer(1),
	"temperature":          number(0, 2),
	"top_p":                number(0, 1),
	"prompt_cache_key":     matching(cacheKey),
	"metadata":             anything,
	"stream":               boolean,
	"stream_options":       record{"include_obfuscation": boolean}.shape,
	"truncation":           word("auto disabled"),
	"service_tier":         word("auto default flex priority"),
}

var responsesTool = record{
	"type!": word(functions), "name!": matching(toolName), "description": text, "parameters!": anything, "strict": boolean,
}

var responsesFormat = byMember("type", "", map[string]shape{
	"text":        record{"type!": text}.shape,
	"json_object": record{"type!": text}.shape,
	"json_schema": record{"type!": text, "name!": matching(toolName), "schema!": anything, "strict": boolean,
		"description": text}.shape,
})

// inputItem is an entry of the input of a Responses request.
var inputItem = byMember("type", "message", map[string]shape{
	"message": record{
		"type": text, "role!": word("user assistant system developer"), "content!": either(text, list(contentPart)),
		"id": matching(`^msg_`), "status": itemStatus, "phase": word("commentary final_answer"),
	}.shape,
	"function_call": record{
		"type!": text, "call_id!": matching(`^[\s\S]{1,64}$`), "name!": matching(`^[a-zA-Z0-9_-]+$`), "arguments!": text,
		"id": matching(`^fc_`), "status": itemStatus,
	}.shape,
	"function_call_output": record{
		"type!": text, "call_id!": text, "output!": either(text, list(contentPart)), "id": matching(`^fc_`),
		"status": itemStatus,
	}.shape,
	"reasoning": record{
		"type!": text, "id!": matching(`^rs_`), "encrypted_content": text, "status": itemStatus, "content": list(anything),
		"summary!": list(record{"type!": word("summary_text"), "text!": text}.shape),
	}.shape,
})

var itemStatus = word("in_progress completed incomplete")

var contentPart = byMember("type", "", map[string]shape{
	"input_text":  record{"type!": text, "text!": text}.shape,
	"output_text": record{"type!": text, "text!": text, "annotations": list(anything), "logprobs": list(anything)}.shape,
	"refusal":     record{"type!": text, "refusal!": text}.shape,
})

var chatRequest = record{
	"model!":    text,
	"messages!": list(chatMessage),
	"tools":     list(chatTool.shape),
	"tool_choice": either(word("auto none required"),
		record{"type!": word(functions), "function!": record{"name!": matching(toolName)}.shape}.shape),
	"stream":                boolean,
	"stream_options":        record{"include_usage": boolean, "include_obfuscation": boolean}.shape,
	"response_format":       chatFormat,
	"max_completion_tokens": integer(1),
	"max_tokens":            integer(1),
	"temperature":           number(0, 2),
	"seed":                  integer(-1 << 63),
	"parallel_tool_calls":   boolean,
}

var chatTool = record{
	"type!":     word(functions),
	"function!": record{"name!": matching(toolName), "description": text, "parameters": anything, "strict": boolean}.shape,
}

var chatFormat = byMember("type", "", map[string]shape{
	"text":        record{"type!": text}.shape,
	"json_object": record{"type!": text}.shape,
	"json_schema": record{
		"type!": text,
		"json_schema!": record{"name!": matching(toolName), "schema!": anything, "strict": boolean,
			"description": text}.shape,
	}.shape,
})

var chatParts = either(text, list(record{"type!": word("text"), "text!": text}.shape))

var chatMessage = byMember("role", "", map[string]shape{
	"system":    record{"role!": text, "content!": chatParts, "name": text}.shape,
	"developer": record{"role!": text, "content!": chatParts, "name": text}.shape,
	"user":      record{"role!": text, "content!": chatParts, "name": text}.shape,
	"tool":      record{"role!": text, "content!": chatParts, "tool_call_id!": text}.shape,
	"assistant": record{
		"role!": text, "content": chatParts, "refusal": text, "name": text,
		"tool_calls": list(record{
			"id!": text, "type!": word(functions), "function!": record{"name!": text, "arguments!": text}.shape,
		}.shape),
	}.shape,
})

var ollamaRequest = record{
	"model!":     text,
	"messages!":  list(ollamaMessage.shape),
	"tools":      list(ollamaTool.shape),
	"format":     either(word("json"), anObject),
	"options":    ollamaOptions.shape,
	"stream":     boolean,
	"think":      either(boolean, word("low medium high max")),
	"keep_alive": either(text, number(-1e18, 1e18)),
	"truncate":   boolean,
	"shift":      boolean,
}

var ollamaMessage = record{
	"role!": word("system user assistant tool"), "content": text, "thinking": text, "images": list(text),
	"tool_name": text, "tool_call_id": text,
	"tool_calls": list(record{
		"id":        text,
		"function!": record{"index": integer(0), "name!": text, "arguments!": anObject}.shape,
	}.shape),
}

var ollamaTool = record{
	"type!":     word(functions),
	"function!": record{"name!": text, "description": text, "parameters!": anObject}.shape,
}

var ollamaOptions = record{
	"num_ctx": integer(1), "num_predict": integer(-2), "temperature": number(0, 100), "seed": integer(-1 << 63),
	"top_p": number(0, 1), "top_k": integer(0), "stop": list(text),
}

// showRequest is what Ollama's show accepts; its own client sends it all.
var showRequest = record{
	"model!": text, "name": text, "system": text, "template": text, "verbose": boolean, "options": anything,
}

func anObject(at string, v any) string {
	if _, ok := v.(map[string]any); !ok {
		return at + ": must be an object"
	}
	return ""
}

// sensible checks what an OpenAI request says as a whole.
func sensible(on string, fields map[string]any) string {
	names := toolNames(fields)
	if twice := repeated(names); twice != "" {
		return "tools: there are two called " + twice
	}
	if why := choiceFits(on, fields, names); why != "" {
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
	if why := suitsModel(fields); why != "" {
		return why
	}
	return strictSchemas(fields)
}

// suitsModel finds parameters that a model of OpenAI does not have: the older
// ones do not reason, and those that do have no temperature.
func suitsModel(fields map[string]any) string {
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

// choiceFits checks that tools are there to choose from.
func choiceFits(on string, fields map[string]any, names []string) string {
	choice, chosen := chosenTool(fields)
	_, parallel := fields["parallel_tool_calls"]
	switch {
	case len(names) == 0 && on == onChat && (chosen || parallel):
		return "'tool_choice' and 'parallel_tool_calls' are only allowed when 'tools' are specified"
	case len(names) == 0 && choice == "required":
		return "tool_choice: 'required' needs tools"
	case chosen && !among("auto none required", choice) && !slices.Contains(names, choice):
		return fmt.Sprintf("tool choice '%s' not found in 'tools' parameter", choice)
	}
	return ""
}

// toolNames lists the tools of a request, whichever way they are spelled.
func toolNames(fields map[string]any) []string {
	var names []string
	for _, tool := range digList(fields, "tools") {
		names = append(names, digText(tool, "name")+digText(tool, "function.name"))
	}
	return names
}

// chosenTool returns auto, none, required or the name of the tool that has to
// be called, and whether the request says anything about it.
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

// strictSchemas checks the schemas that claim to be strict.
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

// strictSchema finds what OpenAI does not accept in a strict schema: an object
// that is open, or that does not require all it has.
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
