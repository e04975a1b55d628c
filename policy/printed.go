package policy

import "strings"

func echoed(args []word) pipeInput {
	var b strings.Builder
	options := true
	for i, a := range args {
		if a.late {
			return unknownInput
		}
		if options && (a.text == "-n" || a.text == "-e" || a.text == "-ne" || a.text == "-en" || a.text == "-E") {
			if strings.Contains(a.text, "e") {
				return echoedEscapes(args[i+1:])
			}
			continue
		}
		options = false
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(a.text)
	}
	return pipeInput{kind: inputKnown, text: b.String()}
}

// endsText reports whether escapes may spell a zero byte, which ends a text here
// but not on a pipe.
func endsText(text string) bool {
	return strings.Contains(text, `\0`) || strings.Contains(text, `\x0`) || strings.Contains(text, `\c`) ||
		strings.Contains(text, `\u0`) || strings.Contains(text, `\U0`)
}

func echoedEscapes(args []word) pipeInput {
	f := echoed(args)
	if endsText(f.text) {
		return unknownInput
	}
	if f.kind == inputKnown {
		f.text = ansiC(f.text)
	}
	return f
}

// printed works out printf where it only puts strings together.
func printed(args []word) pipeInput {
	for _, a := range args {
		if a.late {
			return unknownInput
		}
	}
	if len(args) > 0 && args[0].text == "--" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0].text, "-") {
		return pipeInput{kind: inputKnown}
	}
	for _, a := range args {
		if endsText(a.text) {
			return unknownInput // printf '%s\0' a b is two words to xargs -0
		}
	}
	format, rest := ansiC(args[0].text), args[1:]
	if strings.Count(format, "%") != strings.Count(format, "%s")+strings.Count(format, "%b")+strings.Count(format, "%d") {
		return unknownInput
	}
	var b strings.Builder
	for first := true; first || len(rest) > 0 && strings.Contains(format, "%"); first = false {
		for i := 0; i < len(format); i++ {
			if format[i] != '%' {
				b.WriteByte(format[i])
				continue
			}
			i++
			if len(rest) > 0 {
				b.WriteString(printedArg(format[i], rest[0].text))
				rest = rest[1:]
			}
		}
		if b.Len() > 1<<16 {
			return unknownInput
		}
	}
	return pipeInput{kind: inputKnown, text: b.String()}
}

func printedArg(verb byte, text string) string {
	if verb == 'b' {
		return ansiC(text)
	}
	return text
}

// printfName returns the variable that printf -v sets.
func printfName(args []word) (word, bool) {
	if len(args) == 0 || !strings.HasPrefix(args[0].text, "-v") {
		return word{}, false
	}
	if args[0].text != "-v" {
		return word{value: value{text: args[0].text[2:], late: args[0].late}}, true
	}
	if len(args) == 1 {
		return word{}, false
	}
	return args[1], true
}
