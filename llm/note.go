package llm

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// A File is one that a model may read by its name.
type File struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

// noteMark separates the request of a person from the notes of hako.
const noteMark = "\n\n---\n"

const filesHead = "Granted files:"

// Annotate adds notes for the model to a request: the files that it may read, and any further lines.
func Annotate(request string, files []File, lines ...string) string {
	if len(files) == 0 && len(lines) == 0 {
		return request
	}
	var b strings.Builder
	b.WriteString(request)
	b.WriteString(noteMark)
	if len(files) > 0 {
		b.WriteString(filesHead + "\n")
	}
	for _, f := range files {
		fmt.Fprintf(&b, "- %s (%d bytes)\n", shownName(f.Name), f.Bytes)
	}
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Plain undoes [Annotate]. A text without notes is all request.
func Plain(text string) (request string, files []File) {
	at := strings.LastIndex(text, noteMark)
	if at < 0 {
		return text, nil
	}
	for line := range strings.Lines(text[at+len(noteMark):]) {
		if f, ok := listed(strings.TrimSuffix(line, "\n")); ok {
			files = append(files, f)
		}
	}
	return text[:at], files
}

// listed parses one line of the list of files.
func listed(line string) (f File, ok bool) {
	line, ok = strings.CutPrefix(line, "- ")
	at := strings.LastIndex(line, " (")
	if !ok || at < 0 {
		return f, false
	}
	f.Name = line[:at]
	if strings.HasPrefix(f.Name, `"`) {
		if plain, err := strconv.Unquote(f.Name); err == nil {
			f.Name = plain
		}
	}
	_, err := fmt.Sscanf(line[at:], " (%d bytes)", &f.Bytes)
	return f, err == nil
}

// shownName quotes a name with control characters.
func shownName(name string) string {
	if strings.ContainsFunc(name, unicode.IsControl) || strings.HasPrefix(name, `"`) {
		return strconv.Quote(name)
	}
	return name
}
