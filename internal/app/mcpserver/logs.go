package mcpserver

import (
	"net/url"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/internal/redact"
	"hako/internal/text"
)

// logTemplates are the addresses of long outputs.
var logTemplates = []*sdk.ResourceTemplate{
	{URITemplate: "hako://sandbox/{sandbox_id}/logs/{number}{?offset}", Name: "output", Title: "Output of a command",
		MIMEType:    "text/plain",
		Description: "What a command printed to standard output, 64 KB from offset on; _meta has next_offset and total_bytes. The last few long outputs of a sandbox are kept."},
	{URITemplate: "hako://sandbox/{sandbox_id}/logs/{number}/stderr{?offset}", Name: "errors",
		Title: "Error output of a command", MIMEType: "text/plain",
		Description: "The same for standard error."},
}

// readLog returns part of a stored output.
func (d *Server) readLog(caller, uri string) (*sdk.ReadResourceResult, error) {
	box, number, stderr, offset, ok := parseLog(uri)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	b, err := d.enter(caller, box)
	if err != nil {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	defer d.leave(b)
	r, ok := d.outputs.byNumber(box, number)
	if !ok {
		return nil, sdk.ResourceNotFoundError(uri)
	}
	stream := r.stdout
	if stderr {
		stream = r.stderr
	}
	part, next := text.Page(stream.text, offset, maxRead)
	meta := sdk.Meta{"total_bytes": stream.total, "kept_bytes": len(stream.text)}
	if n := redact.Marks(string(part)); n > 0 {
		meta["redacted"] = n
	}
	if next < int64(len(stream.text)) {
		meta["next_offset"] = next
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "text/plain",
		Text: validUTF8(part), Meta: meta}}}, nil
}

// parseLog parses hako://sandbox/ID/logs/N, with or without /stderr and ?offset.
func parseLog(uri string) (box, number string, stderr bool, offset int64, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "hako" || u.Host != "sandbox" {
		return "", "", false, 0, false
	}
	parts := strings.Split(strings.TrimPrefix(u.Path, "/"), "/")
	stderr = len(parts) == 4 && parts[3] == "stderr"
	if len(parts) != 3 && !stderr || parts[1] != "logs" {
		return "", "", false, 0, false
	}
	if given := u.Query().Get("offset"); given != "" {
		if offset, err = strconv.ParseInt(given, 10, 64); err != nil || offset < 0 {
			return "", "", false, 0, false
		}
	}
	return parts[0], parts[2], stderr, offset, true
}
