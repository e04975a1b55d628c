package egress

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"hako/run/fault"
)

// refusal returns the error for the container. Other errors than ours are replaced: they may reveal the network
// outside.
func refusal(err error) *fault.Error {
	var e *fault.Error
	if errors.As(err, &e) {
		return e
	}
	return &fault.Error{Kind: fault.Unavailable, Op: "connect", Why: "the server could not be asked",
		Hint: "check the address, or try again later"}
}

func statusOf(kind fault.Kind) int {
	switch kind {
	case fault.Denied:
		return http.StatusForbidden
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.TooLarge:
		return http.StatusRequestHeaderFieldsTooLarge
	case fault.Exhausted:
		return http.StatusServiceUnavailable
	case fault.Timeout: // only if the client was slow
		return http.StatusRequestTimeout
	}
	return http.StatusBadGateway
}

// writeRefusal answers with an error. The status line contains the reason, because most programs show nothing else of
// a refused CONNECT.
func writeRefusal(out *bufio.Writer, e *fault.Error) {
	text := "hako: " + e.Error() + "\n"
	if e.Hint != "" {
		text += "hint: " + e.Hint + "\n"
	}
	status := statusOf(e.Kind)
	fmt.Fprintf(out, "HTTP/1.1 %d %s: %s\r\n", status, http.StatusText(status), oneLine(e.Why))
	fmt.Fprintf(out, "Content-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		len(text), text)
}

// framing describes how the end of an answer is marked.
type framing struct {
	length  int64 // -1 means that it is not known
	chunked bool
	closes  bool // the connection is closed after the answer
	empty   bool // there is no body, whatever the length
}

func frame(h *head, resp *http.Response, closes bool) framing {
	f := framing{length: resp.ContentLength, closes: closes}
	f.empty = h.method == http.MethodHead || resp.StatusCode == http.StatusNoContent ||
		resp.StatusCode == http.StatusNotModified
	if f.length < 0 && !f.empty {
		f.chunked = h.minor == 1
		f.closes = f.closes || !f.chunked
	}
	return f
}

// writeHead writes the header of an answer.
func writeHead(out *bufio.Writer, resp *http.Response, f framing) error {
	_, phrase, _ := strings.Cut(resp.Status, " ")
	fmt.Fprintf(out, "HTTP/1.1 %03d %s\r\n", resp.StatusCode, oneLine(phrase))
	options := words(resp.Header["Connection"])
	for name, values := range resp.Header {
		for _, value := range values {
			if !slices.Contains(hopByHop, name) && !slices.Contains(options, name) && isToken(name) && !hasControl(value) {
				fmt.Fprintf(out, "%s: %s\r\n", name, value)
			}
		}
	}
	if f.chunked {
		out.WriteString("Transfer-Encoding: chunked\r\n")
	} else if f.length >= 0 && resp.StatusCode != http.StatusNoContent {
		fmt.Fprintf(out, "Content-Length: %d\r\n", f.length)
	}
	if f.closes {
		out.WriteString("Connection: close\r\n")
	}
	out.WriteString("\r\n")
	return out.Flush()
}

// writeBody copies a body as it arrives: git shows progress by it, and packs of any size pass.
func writeBody(out *bufio.Writer, from io.Reader, chunked bool, passed func(n int)) error {
	piece := make([]byte, 32<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			passed(n)
			if err := writePiece(out, piece[:n], chunked); err != nil {
				return err
			}
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if chunked {
		out.WriteString("0\r\n\r\n")
	}
	return out.Flush()
}

func writePiece(out *bufio.Writer, piece []byte, chunked bool) error {
	if chunked {
		out.WriteString(strconv.FormatInt(int64(len(piece)), 16) + "\r\n")
	}
	out.Write(piece)
	if chunked {
		out.WriteString("\r\n")
	}
	return out.Flush()
}
