package mcpclient

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/redact"
	"hako/internal/text"
)

const maxOutput = 64 << 10 // bytes of a result that a model reads

// result is the text of a result for the model.
func (m *serverConn) result(tool string, res *mcp.CallToolResult) (string, error) {
	if res.InputRequests != nil {
		m.notes.add("it wanted to ask the user and was refused")
		return "", m.refused(tool, "it wants to ask the user something, which is not offered here")
	}
	text, places := m.o.Secrets.Count(spoken(res))
	text = bounded(text)
	switch {
	case res.IsError:
		return "", m.refused(tool, text)
	case places > 0:
		text += "\n[" + redact.ModelNote(places) + "]"
	}
	return text, nil
}

// spoken joins the parts of a result. Structured content mostly repeats the text, so it is used only where there is
// none.
func spoken(res *mcp.CallToolResult) string {
	var parts []string
	said := false
	for _, c := range res.Content {
		if text, whole := part(c); text != "" {
			parts, said = append(parts, text), said || whole
		}
	}
	if !said && res.StructuredContent != nil {
		if text, err := compact(res.StructuredContent); err == nil {
			parts = append([]string{string(text)}, parts...)
		}
	}
	if len(parts) == 0 {
		return "[it answered with nothing]"
	}
	return strings.Join(parts, "\n")
}

// part returns one part of a result. What is not text is only named, and then whole is false.
func part(c mcp.Content) (s string, whole bool) {
	switch c := c.(type) {
	case *mcp.TextContent:
		return c.Text, c.Text != ""
	case *mcp.ImageContent:
		return unshown("image", c.MIMEType, "", len(c.Data)), false
	case *mcp.AudioContent:
		return unshown("audio", c.MIMEType, "", len(c.Data)), false
	case *mcp.ResourceLink:
		return fmt.Sprintf("[link to %s: %s]", text.Line(c.Name, 200), text.Line(c.URI, 1000)), false
	case *mcp.EmbeddedResource:
		return resource(c.Resource)
	}
	return "[something else: not shown]", false
}

// resource shows a text that a server returns as an embedded file.
func resource(r *mcp.ResourceContents) (s string, whole bool) {
	switch {
	case r == nil:
		return "", false
	case r.Text != "":
		return "[" + text.Line(r.URI, 1000) + "]\n" + r.Text, true
	}
	return unshown("resource", r.MIMEType, r.URI, len(r.Blob)), false
}

func unshown(what, kind, at string, size int) string {
	for _, more := range []string{text.Line(kind, 200), text.Line(at, 1000)} {
		if more != "" {
			what += ", " + more
		}
	}
	return fmt.Sprintf("[%s, %d bytes: not shown]", what, size)
}

// bounded keeps both ends of a long text.
func bounded(s string) string {
	b := text.HeadTail{Head: maxOutput * 3 / 4, Tail: maxOutput / 4, Mark: "… %d bytes left out: ask for less at once …"}
	_, _ = b.Write([]byte(s)) // which never fails
	return b.String()
}
