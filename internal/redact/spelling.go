package redact

import "strings"

// findWithin is find within the look-ahead.
func (sc *scanner) findWithin(s string, i, low int) (from, to int) {
	switch s[i] {
	case '-':
		return sc.dash(s, i, low)
	case '_':
		return sc.token(s, i, low, underscorePrefixesBy)
	case '.':
		return sc.token(s, i, low, dotPrefixesBy)
	case 'I':
		return amazonKeyAt(s, i, low)
	case 'z':
		return googleKeyAt(s, i, low)
	case 'J':
		return sc.webToken(s, i, low)
	case 'B', 'b':
		return bearerToken(s, i, low)
	case ':':
		if strings.HasPrefix(s[i:], "://") {
			return sc.address(s, i+3)
		}
		if from, to = authorizationToken(s, i, low); to > from {
			return from, to
		}
		if from, to = sc.cookieHeader(s, i, low); to > from {
			return from, to
		}
		return sc.assignedValue(s, i, low)
	}
	return sc.assignedValue(s, i, low)
}

func (sc *scanner) dash(s string, i, low int) (from, to int) {
	if i == 0 || s[i-1] <= ' ' || isQuote(s[i-1]) || escapedBefore(s, i) {
		if from, to = sc.option(s, i); to > from {
			return from, to
		}
	}
	return sc.token(s, i, low, dashPrefixesBy)
}

// token finds a vendor's token whose prefix ends with the anchor. Quotes and backslashes in it are skipped, as in
// a shell: "s"k-… is a token, too.
func (sc *scanner) token(s string, i, low int, known *prefixes) (from, to int) {
	before := i - 1
	for before >= low && isQuoteOrBackslash(s[before]) {
		before--
	}
	if before < low {
		return 0, 0
	}
	for _, p := range known[s[before]] {
		from := prefixStart(s, i, low, p.text)
		if from < 0 || !wordStarts(s, from) {
			continue
		}
		body := s[i+1 : min(len(s), i+1+maxForm)]
		n, letters := tokenSpan(body)
		sc.charge(n)
		if letters >= p.min && (sc.exhausted() || p.fits(body[:n])) {
			if n == len(body) {
				n, _ = tokenSpan(s[i+1:])
			}
			return from, i + 1 + n + laterParts(s[i+1+n:])
		}
	}
	return 0, 0
}

// laterParts returns the length of further parts after a token: SG.name.secret. A short part is the end of a
// sentence or of a file name.
func laterParts(s string) (n int) {
	for n < len(s) && s[n] == '.' {
		part := span(s[n+1:], isTokenByte)
		if part < 16 {
			break
		}
		n += 1 + part
	}
	return n
}

// prefixStart returns where a prefix begins that ends with s[i]; -1 if it is another.
func prefixStart(s string, i, low int, text string) int {
	for k := len(text) - 1; ; i-- {
		switch {
		case i < low:
			return -1
		case s[i] == text[k] && k == 0:
			return i
		case s[i] == text[k]:
			k--
		case !isQuoteOrBackslash(s[i]):
			return -1
		}
	}
}

// tokenSpan returns the length of the token at the start of s, and how many of its bytes are not quotes.
func tokenSpan(s string) (n, letters int) {
	for i := range len(s) {
		switch {
		case isTokenByte(s[i]):
			letters++
			n = i + 1
		case !isQuoteOrBackslash(s[i]):
			return n, letters
		}
	}
	return n, letters
}

// webToken finds a JSON web token: header.payload.signature in base64.
func (sc *scanner) webToken(s string, i, low int) (from, to int) {
	from = i - 2
	if from < low || s[from:i] != "ey" || !mayBegin(s, from) {
		return 0, 0
	}
	to = sc.tokenRun(s, from)
	if to-from < 10 || to >= len(s) || s[to] != '.' || !strings.HasPrefix(s[to+1:], "ey") {
		return 0, 0
	}
	return from, to + span(s[to:], isWebTokenByte)
}

// bearerToken finds the token of an Authorization header.
func bearerToken(s string, i, low int) (from, to int) {
	for _, word := range []string{"earer ", "asic "} {
		at := i + 1
		if i < low || !hasFold(s[at:], word) || !mayBegin(s, i) {
			continue
		}
		at += len(word)
		if n := span(s[at:], isBase64Byte); n >= 12 && looksRandom(s[at:at+n]) {
			return at, at + n
		}
	}
	return 0, 0
}

// authorizationToken finds the token of "Authorization: token …", as GitHub accepts it.
func authorizationToken(s string, i, low int) (from, to int) {
	const name, kind = "authorization", "token "
	if i-len(name) < low || !hasFold(s[i-len(name):], name) {
		return 0, 0
	}
	at := i + 1
	at += span(s[at:], isBlank)
	if !hasFold(s[at:], kind) {
		return 0, 0
	}
	at += len(kind)
	if n := span(s[at:], isBase64Byte); n >= 12 && looksRandom(s[at:at+n]) {
		return at, at + n
	}
	return 0, 0
}

// address finds the secrets in an address, after the :// that ends before at.
func (sc *scanner) address(s string, at int) (from, to int) {
	n := span(s[at:], isAuthorityByte)
	if from, to = sc.credentials(s, at, n); to > from {
		return from, to
	}
	return sc.webhook(s, at, n)
}

// credentials finds user:password@ at the start of an authority of n bytes.
func (sc *scanner) credentials(s string, at, n int) (from, to int) {
	end := strings.LastIndexByte(s[at:at+n], '@')
	if _, port, ok := strings.Cut(s[at:at+n], ":"); end < 0 && ok && span(port, isDigit) < len(port) && s[at] != '[' {
		// What follows the colon is no port: a password with a slash in it.
		if sc.exhausted() {
			return at, len(s)
		}
		far := s[at:min(len(s), at+lookBack)]
		sc.charge(len(far))
		end = strings.LastIndexByte(far[:span(far, isURLByte)], '@')
	}
	if end <= 0 {
		return 0, 0
	}
	return at, at + end
}

// The delimiters of a private key in PEM format.
const (
	keyBegin = "-----BEGIN "
	keyEnd   = "-----END "
)

// keyBlock finds a private key in PEM format, up to its end or that of the text.
func keyBlock(s string, at int) (from, to int) {
	line, _, _ := strings.Cut(s[at:min(len(s), at+80)], "\n")
	if !strings.Contains(line, "PRIVATE KEY") {
		return 0, 0
	}
	stop := keyStop(s[at:])
	if stop < 0 {
		return at, len(s)
	}
	return at, at + stop
}

// keyStop returns where a private key ends of which s is the rest, or -1.
func keyStop(s string) int {
	at := strings.Index(s, keyEnd)
	if at < 0 {
		return -1
	}
	at += len(keyEnd)
	line := s[at:]
	if n := strings.IndexByte(line, '\n'); n >= 0 {
		line = line[:n]
	}
	if n := strings.Index(line, "-----"); n >= 0 {
		return at + n + len("-----")
	}
	return at + len(line)
}

// option finds the value of "--password value", and of options of known programs; the dash is s[i].
func (sc *scanner) option(s string, i int) (from, to int) {
	name := i + span(s[i:min(len(s), i+2)], isDash)
	end := name + span(s[name:min(len(s), name+64)], nameByte)
	at := end + span(s[end:], isBlank)
	switch {
	case end == name:
	case name == i+2 && at > end && at < len(s) && s[at] != '-' && secretName(s[name:end]) > 0:
		return sc.value(s, at, sc.quoted(s, i))
	case s[name] == 'v' && strings.HasSuffix(strings.TrimRight(s[max(0, i-12):i], " \t"), "printf"):
		return sc.printedValue(s, name+1)
	case name == i+1 && strings.HasPrefix(s[name:], "pass") && at > end:
		if from, to = sc.opensslPassword(s, i, at); to > from {
			return from, to
		}
	}
	if programOption(s[i:end]) {
		return sc.programSecret(s, i, end)
	}
	return 0, 0
}

// printedValue finds the format and words of printf -v NAME, the name being at.
func (sc *scanner) printedValue(s string, at int) (from, to int) {
	at += span(s[at:], isBlank)
	end := at + span(s[at:], nameByte)
	from = end + span(s[end:], isBlank)
	if from == end || secretName(s[at:end]) == 0 {
		return 0, 0
	}
	for at = from; at < len(s) && (isBlank(s[at]) || !isWordBreak(s[at])); {
		if sc.exhausted() {
			return from, len(s)
		}
		to = sc.wordEnd(s, at, 0)
		at = to + span(s[to:], isBlank)
	}
	if to <= from || s[from:to] == Mark {
		return 0, 0
	}
	return from, to
}

// userPassword finds the password of curl -u user:password, or with another separator.
func (sc *scanner) userPassword(s string, i, at int, parts byte) (from, to int) {
	if s[i+1]|0x20 == 'u' {
		at = i + 2 + span(s[i+2:], isBlank) // -uuser:password
	}
	if at < len(s) && s[at] == '=' {
		at++
	}
	if at < len(s) && sc.exhausted() {
		return at, len(s)
	}
	outer := sc.quoted(s, i)
	end := at
	if at < len(s) {
		end = sc.wordEnd(s, at, outer)
	}
	colon := strings.IndexByte(s[at:end], parts)
	if colon < 0 {
		return 0, 0
	}
	from = at + colon + 1
	if q := s[at]; isQuote(q) && sc.closing(s, at) == end-1 {
		end--
	}
	if isReference(s[from:end]) {
		return 0, 0
	}
	return from, end
}

// assignedValue finds the value of password=… or "token": "…", s[i] being = or :.
func (sc *scanner) assignedValue(s string, i, low int) (from, to int) {
	end, spaced := nameEnd(s, i, low)
	if end-low < 2 || !nameTail(s[end-2]|0x20, s[end-1]|0x20) {
		return 0, 0
	}
	start := end
	for start > low && end-start < 64 && nameByte(s[start-1]) {
		start--
	}
	weight := secretName(s[start:end])
	if weight == 0 && start > low && s[start-1] == '\\' && isEscapeLetter(s[start]) {
		start++ // "\npass=x": the n is no part of the name
		weight = secretName(s[start:end])
	}
	if weight == 0 || s[i] == '=' && isBase64Padding(s, i, low) {
		return 0, 0
	}
	if start > low && s[start-1] == '/' && s[i] == ':' {
		weight = min(weight, likelySecret) // "cat: /etc/passwd: No such file" names a file
	}
	at := i + 1
	if s[i] == ':' || spaced {
		at += span(s[at:], isEquals)
		at += span(s[at:], isBlank)
	}
	if (s[i] == ':' || spaced) && weight < certainSecret && !sc.looksLikeSecret(s[at:min(len(s), at+256)], weight) {
		return 0, 0
	}
	switch {
	case weight == unlikelySecret && end-start == len("pass") && isShortNumber(s[at:]):
		return 0, 0
	case start > 1 && s[start-2:start] == "${":
		return sc.defaultValue(s, i+1)
	case start > 0 && isQuote(s[start-1]) && end == i:
		return sc.valueInQuote(s, start-1, at)
	case s[i] == ':':
		return sc.jsonValue(s, at, sc.quoted(s, start))
	}
	return sc.value(s, at, sc.quoted(s, start))
}

// nameEnd returns where the name before s[i] ends, and whether blanks follow it. It skips quotes, ], and the + of
// +=.
func nameEnd(s string, i, low int) (end int, spaced bool) {
	end = i
	if end == low || isAlphanumeric(s[end-1]) {
		return end, false
	}
	if c := s[end-1]; c == '+' || c == '!' {
		end--
	}
	for end > low && i-end < 16 && isBlank(s[end-1]) {
		end--
		spaced = true
	}
	if end > low && s[end-1] == ']' {
		end--
	}
	for end > low && i-end < 16 && isQuoteOrBackslash(s[end-1]) {
		end--
	}
	return end, spaced
}

// looksLikeSecret tells a value from prose: "unexpected token: name" and "PASS: Test1" are not secrets.
func (sc *scanner) looksLikeSecret(s string, weight int) bool {
	if s != "" && isQuoteOrBackslash(s[0]) {
		return true
	}
	word := s[:span(s, isValueByte)]
	sc.charge(len(word))
	return weight == likelySecret && (looksRandom(word) || sc.exhausted())
}

// isShortNumber reports whether s begins with a short number: pass=10 fail=2.
func isShortNumber(s string) bool {
	n := span(s[:min(len(s), 5)], isDigit)
	return n > 0 && n < 5 && wordEnds(s, n)
}

// defaultValue finds the value in ${PASSWORD:-value}, the operator being at.
func (sc *scanner) defaultValue(s string, at int) (from, to int) {
	if at >= len(s) || strings.IndexByte("-=+", s[at]) < 0 {
		return 0, 0 // ${PASSWORD:?is not set}
	}
	n := strings.IndexAny(s[at:min(len(s), at+lookBack)], "}\n")
	sc.charge(lookBack)
	if n < 0 {
		return sc.value(s, at+1, 0)
	}
	if isReference(s[at+1 : at+n]) {
		return 0, 0
	}
	return at + 1, at + n
}

// valueInQuote finds the value of 'PASSWORD=two words', the quote being s[q].
func (sc *scanner) valueInQuote(s string, q, at int) (from, to int) {
	end := sc.closing(s, q)
	switch {
	case end >= len(s) || end < at:
		return sc.value(s, at, 0)
	case !wordEnds(s, end+1):
		end = sc.wordEnd(s, end+1, 0)
	}
	if isReference(s[at:end]) {
		return 0, 0
	}
	return at, end
}

// looksRandom tells keys from words by length and a digit.
func looksRandom(s string) bool {
	return len(s) >= 6 && strings.ContainsAny(s, "0123456789")
}

func hasFold(s, word string) bool {
	return len(s) >= len(word) && strings.EqualFold(s[:len(word)], word)
}
