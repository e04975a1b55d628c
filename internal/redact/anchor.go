package redact

import "strings"

// An anchor is a byte at which a secret can be told from ordinary text. They
// were chosen to be rare: "ghp_" is recognised at its underscore, not its g.
// Even so they are in every line, so a neighbour must fit too: the dashes of a
// date do not. A pair of bytes may hold an anchor if what the first leads and
// what the second needs have a bit in common.
var firstKinds, secondKinds = pairKinds()

// The kinds of pairs.
const (
	toDash  = 1 << iota // the second byte is the anchor
	toScore             //
	toDot               //
	toValue             // = or :
	toZ                 // AIza
	toJ                 // eyJ
	isI                 // the first byte is the anchor: AKIA
	isB                 // Bearer, Basic
	isURL               // ://
	isBegin             // -----BEGIN
)

func pairKinds() (leads, needs [256]uint16) {
	needs['-'], needs['_'], needs['.'] = toDash|isBegin, toScore, toDot
	needs['='], needs[':'] = toValue, toValue
	needs['z'], needs['J'] = toZ, toJ
	needs['A'], needs['/'] = isI|isB, isURL
	needs['a'], needs['e'], needs['E'] = isB, isB, isB

	leads['I'], leads['y'] = toZ|isI, toJ
	leads['B'], leads['b'] = isB, isB
	leads[':'], leads['-'] = isURL, isBegin
	for kind, known := range map[uint16][]prefix{toDash: dashPrefixes, toScore: underscorePrefixes, toDot: dotPrefixes} {
		for _, p := range known {
			leads[p.text[len(p.text)-2]] |= kind
		}
	}
	for c := range leads {
		switch b := byte(c); {
		case isQuoteOrBackslash(b):
			leads[c] |= toDash | toScore | toDot | toValue
		case b <= ' ':
			leads[c] |= toDash | toValue
		case strings.IndexByte(nameEnds, b|0x20) >= 0, strings.IndexByte("]+!", b) >= 0:
			leads[c] |= toValue
		}
		if isEscapeLetter(byte(c)) { // "\n--password x"
			leads[c] |= toDash
		}
	}
	return leads, needs
}

// nextAnchor returns the first anchor in s[i:stop], or stop. Bytes before i and after stop are only context.
func nextAnchor(s string, i, stop int) int {
	if i >= stop {
		return stop
	}
	lead := firstKinds[0] // as of a blank
	if i > 0 {
		lead = firstKinds[s[i-1]]
	}
	for k, c := range []byte(s[i:min(len(s), stop+1)]) {
		both := lead & secondKinds[c]
		lead = firstKinds[c]
		switch {
		case both == 0:
		case both >= isI && k > 0:
			return i + k - 1
		case both < isI && i+k < stop:
			return i + k
		}
	}
	return stop
}
