package fakes

import (
	"cmp"
	"fmt"
	"strings"
)

// An entry is a part of a conversation, in no particular format.
type entry struct {
	kind string // said (by the model), call, result, reasoning, other
	id   string // of a call, its result, or a reasoning item
	name string // of the tool
	text string // said, the arguments of a call, or what was encrypted
}

const (
	said      = "said"
	called    = "call"
	answered  = "result"
	reasoning = "reasoning"
	other     = "other"
)

// entries returns the conversation of a request.
func entries(on string, fields map[string]any) []entry {
	var all []entry
	switch on {
	case onResponses:
		for _, item := range digList(fields, "input") {
			all = append(all, fromItem(item))
		}
	case onChat, onOllama:
		for _, message := range digList(fields, "messages") {
			all = append(all, fromMessage(message)...)
		}
	}
	if on == onOllama {
		byName(all)
	}
	return all
}

// fromItem converts an item of the Responses input.
func fromItem(item any) entry {
	switch digText(item, "type") {
	case "function_call":
		return entry{called, digText(item, "call_id"), digText(item, "name"), digText(item, "arguments")}
	case "function_call_output":
		return entry{kind: answered, id: digText(item, "call_id")}
	case "reasoning":
		return entry{kind: reasoning, id: digText(item, "id"), text: digText(item, "encrypted_content")}
	}
	if digText(item, "role") == "assistant" {
		return entry{kind: said, text: joined(item)}
	}
	return entry{kind: other}
}

// fromMessage reads a message of Chat Completions or Ollama.
func fromMessage(message any) []entry {
	switch digText(message, "role") {
	case "tool":
		return []entry{{kind: answered, id: digText(message, "tool_call_id"), name: digText(message, "tool_name")}}
	case "assistant":
		all := []entry{{kind: said, text: joined(message)}}
		for _, c := range digList(message, "tool_calls") {
			arguments, _ := dig(c, "function.arguments")
			s, isText := arguments.(string)
			if !isText {
				s = canonical(arguments)
			}
			all = append(all, entry{called, digText(c, "id"), digText(c, "function.name"), s})
		}
		return all
	}
	return []entry{{kind: other}}
}

// joined returns the text of a message, be it a string or parts.
func joined(message any) string {
	whole := digText(message, "content") + digText(message, "refusal")
	for _, part := range digList(message, "content") {
		whole += digText(part, "text") + digText(part, "refusal")
	}
	return whole
}

// canonical spells a JSON value in one way: its members sorted.
func canonical(v any) string {
	text, _ := marshal(v)
	return string(text)
}

// byName gives ids to calls that have none and lets the results that name
// their tool instead of a call point to one, first come first served.
func byName(all []entry) {
	open := map[string][]string{}
	for i := range all {
		e := &all[i]
		switch {
		case e.kind == called:
			e.id = cmp.Or(e.id, fmt.Sprintf("%s number %d", e.name, i))
			open[e.name] = append(open[e.name], e.id)
		case e.kind == answered && e.id == "" && len(open[e.name]) > 0:
			e.id, open[e.name] = open[e.name][0], open[e.name][1:]
		}
	}
}

// paired checks that each call has exactly one result and each result a call.
// The calls in open were made before the first entry. Chat wants the results
// right behind the calls.
func paired(on string, open []entry, all []entry) string {
	waiting := map[string]bool{}
	answers := map[string]bool{}
	for _, c := range open {
		waiting[c.id] = true
	}
	for _, e := range all {
		switch {
		case e.kind == called && (waiting[e.id] || answers[e.id]):
			return fmt.Sprintf("there are two calls %s", e.id)
		case e.kind == called:
			waiting[e.id] = true
		case e.kind == answered && answers[e.id]:
			return fmt.Sprintf("call %s has two outputs", e.id)
		case e.kind == answered && !waiting[e.id]:
			return orphanResult(on, e)
		case e.kind == answered:
			delete(waiting, e.id)
			answers[e.id] = true
		case on != onResponses && len(waiting) > 0:
			return unanswered(on, waiting)
		}
	}
	if len(waiting) > 0 {
		return unanswered(on, waiting)
	}
	return ""
}

func orphanResult(on string, e entry) string {
	if on == onResponses {
		return fmt.Sprintf("No tool call found for function call output with call_id %s.", e.id)
	}
	return fmt.Sprintf("messages with role 'tool' must be a response to a preceding message with 'tool_calls': %q is not",
		e.id+e.name)
}

func unanswered(on string, waiting map[string]bool) string {
	ids := strings.Join(sortedKeys(waiting), ", ")
	if on == onResponses {
		return fmt.Sprintf("No tool output found for function call %s.", ids)
	}
	return "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
		"The following tool_call_ids did not have response messages: " + ids
}
