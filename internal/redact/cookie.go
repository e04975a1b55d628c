package redact

import "strings"

// maxCookieName bounds the name of a cookie.
const maxCookieName = 256

// cookieHeader finds the first value of "Cookie: a=b; c=d" or "Set-Cookie: a=b; Path=/", s[i] being the colon.
// The header may be a member of JSON.
func (sc *scanner) cookieHeader(s string, i, low int) (from, to int) {
	const name, set = "cookie", "set-"
	if i == low || s[i-1]|0x20 != 'e' && !isQuoteOrBackslash(s[i-1]) {
		return 0, 0 // as most
	}
	end := i
	for end > low && i-end < 4 && isQuoteOrBackslash(s[end-1]) {
		end--
	}
	start := end - len(name)
	if start < low || !hasFold(s[start:], name) {
		return 0, 0
	}
	only := start-len(set) >= low && hasFold(s[start-len(set):], set)
	at := i + 1 + span(s[i+1:], isBlank)
	if at < len(s) && s[at] == '[' {
		at++ // {"Set-Cookie": ["a=b"]}, or map[Cookie:[a=b]]
	}
	at, q := openQuote(s, at, sc.quoted(s, start))
	return sc.cookieValue(s, cookieEquals(s, at), q, only)
}

// openQuote skips an opening quote and returns it; without one it returns the outer quote.
func openQuote(s string, at int, outer byte) (int, byte) {
	if at >= len(s) || !isQuoteOrBackslash(s[at]) {
		return at, outer
	}
	return at + span(s[at:], isQuoteOrBackslash), s[at]
}

// cookieOption reports whether an option of curl takes cookies: -b may be the last of several letters.
func cookieOption(option string) bool {
	n := len(option) - 1
	return option == "--cookie" || option[1] == 'b' || option[n] == 'b' && span(option[1:], isAlphanumeric) == n
}

// optionCookies finds the first value of curl -b a=b, the option being s[i:end]. A word without = is a file name;
// a semicolon without quotes belongs to the shell.
func (sc *scanner) optionCookies(s string, i, end int) (from, to int) {
	at := end
	if s[i+1] == 'b' {
		at = i + 2
	}
	if at < len(s) && s[at] == '=' {
		at++
	} else {
		at += span(s[at:], isBlank)
	}
	at, q := openQuote(s, at, sc.quoted(s, i))
	return sc.cookieValue(s, cookieEquals(s, at), q, q == 0)
}

// cookiePart returns where cookies begin in the word after, or in, such an option; the length of the word if
// there are none.
func cookiePart(argv []string, i int, p *program) int {
	word := argv[i]
	switch {
	case i == 0 || !p.cookies:
	case strings.HasPrefix(word, "--cookie="):
		return len("--cookie=")
	case strings.HasPrefix(word, "-b"):
		return len("-b")
	case strings.HasPrefix(argv[i-1], "-") && len(argv[i-1]) > 1 && cookieOption(argv[i-1]):
		return 0
	}
	return len(word)
}

// cookieEquals returns the position of the = after the name of a cookie; 0 means none.
func cookieEquals(s string, at int) int {
	n := span(s[at:min(len(s), at+maxCookieName)], isCookieNameByte)
	if at += n; n == 0 || at >= len(s) || s[at] != '=' {
		return 0
	}
	return at
}

// cookieValue finds the value after the = at s[i] within the quote q, and notes the next cookie unless there is
// only one.
func (sc *scanner) cookieValue(s string, i int, q byte, only bool) (from, to int) {
	if i == 0 {
		return 0, 0
	}
	from = i + 1
	if sc.exhausted() {
		return from, len(s)
	}
	own := 0
	if q != '\\' && strings.HasPrefix(s[from:], `\"`) {
		own = len(`\"`) // quotes of its own, in a text in quotes
	}
	from += own
	to = cookieEnd(s, from, q)
	if !only {
		sc.findNextCookie(s, min(len(s), to+own), q)
	}
	sc.charge(to - from)
	if to-from > 1 && s[from] == '"' && s[to-1] == '"' {
		from, to = from+1, to-1
	}
	if isReference(s[from:to]) {
		return 0, 0
	}
	return from, to
}

// findNextCookie notes the = of the cookie after the one that ends at a position. Some cookies have no value:
// a=b; c; d=e.
func (sc *scanner) findNextCookie(s string, at int, q byte) {
	for at < len(s) && s[at] == ';' {
		next := at + span(s[at:], isCookieSeparator)
		if i := cookieEquals(s, next); i > 0 {
			sc.nextCookie, sc.nextCookieQuote = sc.offset+i, q
			return
		}
		next += span(s[next:], isCookieNameByte)
		sc.charge(next - at)
		at = next
	}
}

// cookieEnd returns where the value at a position ends. It may have its own double quotes.
func cookieEnd(s string, at int, q byte) int {
	if at < len(s) && s[at] == '"' && q != '"' {
		if n := strings.IndexAny(s[at+1:], "\"\n"); n >= 0 && s[at+1+n] == '"' {
			return at + 1 + n + 1
		}
	}
	for i := at; i < len(s); i++ {
		if c := s[i]; c <= ' ' || c == ';' || c == '"' || c == '\\' || c == '\'' && q == c {
			return i
		}
	}
	return len(s)
}

func isCookieSeparator(c byte) bool { return c == ';' || isBlank(c) }

func isCookieNameByte(c byte) bool { return c > ' ' && strings.IndexByte("=;,/\"'\\", c) < 0 }
