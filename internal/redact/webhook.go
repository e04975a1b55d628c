package redact

import "strings"

// A webhook is an address that is a secret itself: whoever knows it may post there.
type webhook struct {
	host  string // or the end of it
	path  string // what the secret part comes after
	keep  int    // how many parts in between are no secrets
	whole bool   // all that follows is secret; otherwise one part
}

var webhooks = []webhook{
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

// webhooksByLetter are the webhooks by the letter before .com, which rules out most hosts.
var webhooksByLetter = indexWebhooks()

func indexWebhooks() (by [256][]webhook) {
	for _, h := range webhooks {
		c := h.host[len(h.host)-minHostEnd]
		by[c] = append(by[c], h)
	}
	return by
}

// minWebhook is the length of the shortest secret part; no host is shorter than minHost.
const (
	minWebhook = 5
	minHost    = len("discord.com")
	minHostEnd = len("d.com")
)

// webhook finds the secret part of such an address, the authority being the n bytes from at.
func (sc *scanner) webhook(s string, at, n int) (from, to int) {
	host, _, _ := strings.Cut(s[at:at+n], ":")
	if len(host) < minHost {
		return 0, 0
	}
	for _, h := range webhooksByLetter[host[len(host)-minHostEnd]|0x20] {
		if !h.at(host) {
			continue
		}
		if from, to = sc.hookSecret(s, at+n, &h); to > from {
			return from, to
		}
	}
	return 0, 0
}

// at reports whether a host is that of the webhook.
func (h *webhook) at(host string) bool {
	n := len(host) - len(h.host)
	return n >= 0 && strings.EqualFold(host[n:], h.host) && (n == 0 || h.host[0] == '.' || host[n-1] == '.')
}

// hookSecret finds the secret in an address whose path begins at a position.
func (sc *scanner) hookSecret(s string, path int, h *webhook) (from, to int) {
	if sc.exhausted() {
		return path, len(s)
	}
	far := s[path:min(len(s), path+lookBack)]
	far = far[:span(far, isURLByte)]
	sc.charge(len(far))
	n := strings.Index(far, h.path)
	if n < 0 {
		return 0, 0
	}
	from = path + n + len(h.path)
	for range h.keep {
		n := span(s[from:], isTokenByte)
		if from += n; n == 0 || from == len(s) || s[from] != '/' && s[from] != ':' {
			return 0, 0
		}
		from++
	}
	if to = from + h.span(s[from:]); to-from < minWebhook {
		return 0, 0
	}
	return from, to
}

// span returns the length of the secret at the start of s.
func (h *webhook) span(s string) int {
	if !h.whole {
		return span(s, isTokenByte)
	}
	n := span(s, isWebhookByte)
	for strings.HasPrefix(s[n:], `\u0026`) { // & as JSON spells it
		n += len(`\u0026`)
		n += span(s[n:], isWebhookByte)
	}
	return len(strings.TrimRight(s[:n], ".,:"))
}

func isWebhookByte(c byte) bool { return isTokenByte(c) || strings.IndexByte("/@=&%.~+:,", c) >= 0 }
