package redact

import "strings"

// A hook is an address that whoever knows it may write to.
type hook struct {
	host  string // or the end of it
	path  string // what the secret part comes after
	keep  int    // how many parts in between are no secrets
	whole bool   // all that follows is secret; otherwise one part
}

var hooks = []hook{
	{host: "hooks.slack.com", path: "/services/", keep: 2}, {host: "hooks.slack.com", path: "/workflows/", keep: 3},
	{host: "hooks.slack.com", path: "/triggers/", keep: 2},
	{host: "hooks.slack-gov.com", path: "/services/", keep: 2},
	{host: "discord.com", path: "/webhooks/", keep: 1}, {host: "discordapp.com", path: "/webhooks/", keep: 1},
	{host: ".webhook.office.com", path: "/webhookb2/", whole: true}, {host: "outlook.office.com", path: "/webhook/",
		whole: true},
	{host: ".logic.azure.com", path: "/invoke?", whole: true}, {host: ".api.powerplatform.com", path: "/invoke?",
		whole: true},
	{host: "api.telegram.org", path: "/bot", keep: 1},
	{host: "hooks.zapier.com", path: "/hooks/catch/", keep: 1},
	{host: "maker.ifttt.com", path: "/key/"},
}

// hooksBy are the hooks by the letter before .com, which rules most hosts out.
var hooksBy = hooksByLetter()

func hooksByLetter() (by [256][]hook) {
	for _, h := range hooks {
		c := h.host[len(h.host)-leastEnd]
		by[c] = append(by[c], h)
	}
	return by
}

// leastHook is the length from which something in the place of a secret is one;
// no host is shorter than leastHost.
const (
	leastHook = 5
	leastHost = len("discord.com")
	leastEnd  = len("d.com")
)

// webhook finds the secret part of such an address, the authority being the n
// bytes from at.
func (sc *scanner) webhook(s string, at, n int) (from, to int) {
	host, _, _ := strings.Cut(s[at:at+n], ":")
	if len(host) < leastHost {
		return 0, 0
	}
	for _, h := range hooksBy[host[len(host)-leastEnd]|0x20] {
		if !h.at(host) {
			continue
		}
		if from, to = sc.hookSecret(s, at+n, &h); to > from {
			return from, to
		}
	}
	return 0, 0
}

// at reports whether a host is that of a hook.
func (h *hook) at(host string) bool {
	n := len(host) - len(h.host)
	return n >= 0 && strings.EqualFold(host[n:], h.host) && (n == 0 || h.host[0] == '.' || host[n-1] == '.')
}

// hookSecret finds what is secret in an address whose path begins at a place.
func (sc *scanner) hookSecret(s string, path int, h *hook) (from, to int) {
	if sc.spent() {
		return path, len(s)
	}
	far := s[path:min(len(s), path+lookBack)]
	far = far[:span(far, urlByte)]
	sc.spend(len(far))
	n := strings.Index(far, h.path)
	if n < 0 {
		return 0, 0
	}
	from = path + n + len(h.path)
	for range h.keep {
		n := span(s[from:], tokenByte)
		if from += n; n == 0 || from == len(s) || s[from] != '/' && s[from] != ':' {
			return 0, 0
		}
		from++
	}
	if to = from + h.span(s[from:]); to-from < leastHook {
		return 0, 0
	}
	return from, to
}

// span returns the length of the secret that s begins with.
func (h *hook) span(s string) int {
	if !h.whole {
		return span(s, tokenByte)
	}
	n := span(s, hookByte)
	for strings.HasPrefix(s[n:], `\u0026`) { // & as JSON spells it
		n += len(`\u0026`)
		n += span(s[n:], hookByte)
	}
	return len(strings.TrimRight(s[:n], ".,:"))
}

func hookByte(c byte) bool { return tokenByte(c) || strings.IndexByte("/@=&%.~+:,", c) >= 0 }
