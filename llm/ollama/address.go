package ollama

import "strings"

// port is the default port of a server.
const port = "11434"

// Normalize makes a URL of a value of OLLAMA_HOST: "host", "0.0.0.0:11434", ":8080", "https://host/path". The
// unspecified address, which is for listening, becomes that of this machine.
func Normalize(host string) string {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	scheme, rest, given := strings.Cut(host, "://")
	if !given {
		scheme, rest = "http", host
	}
	rest, path, _ := strings.Cut(rest, "/")
	user, rest := splitUser(rest)
	name, at := splitPort(rest)
	if at == "" && !given {
		at = port
	}
	switch name {
	case "", "0.0.0.0":
		name = "127.0.0.1"
	case "::":
		name = "::1"
	}
	url := scheme + "://" + user + bracket(name)
	if at != "" {
		url += ":" + at
	}
	return strings.TrimRight(url+"/"+path, "/")
}

// splitUser splits off credentials, with the @ behind them.
func splitUser(text string) (user, rest string) {
	at := strings.LastIndexByte(text, '@') + 1
	return text[:at], text[at:]
}

// splitPort splits a host and its port. An IPv6 address without a port may lack its brackets.
func splitPort(text string) (host, at string) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		host, at, _ = strings.Cut(rest, "]")
		return host, strings.TrimPrefix(at, ":")
	}
	if strings.Count(text, ":") > 1 {
		return text, ""
	}
	host, at, _ = strings.Cut(text, ":")
	return host, at
}

func bracket(host string) string {
	if strings.Contains(host, ":") {
		return "[" + host + "]"
	}
	return host
}
