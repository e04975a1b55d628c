package redact

import (
	"slices"
	"strings"
)

// A prefix is how a vendor's tokens begin; at least min token letters follow.
// Random text in the alphabet of URLs has every short prefix somewhere, so that
// what follows one of less than six letters must also have the form of a token.
type prefix struct {
	text string
	min  int
	form form // nil means any
}

// longestForm is how far the form of a token is looked at.
const longestForm = 256

// A form reports whether a text without quotes, of letters of these kinds, can be
// the rest of a token.
type form func(body string, kinds byte) bool

// The prefixes, by the byte that is their anchor and last byte.
var (
	dashed = []prefix{{"sk-", 12, secretKey}, {"sk-ant-", 8, nil}, {"sk-proj-", 8, nil}, {"sk-svcacct-", 8, nil},
		{"sk-admin-", 8, nil}, {"sk-service-", 8, nil},
		{"sk-None-", 8, nil}, {"sk-or-v1-", 8, nil}, {"sk-live-", 8, nil}, {"sk-test-", 8, nil},
		{"glpat-", 12, nil}, {"glptt-", 12, nil}, {"glsoat-", 12, nil}, {"glcbt-", 12, nil}, {"glimt-", 12, nil},
		{"glagent-", 12, nil}, {"gloas-", 12, nil}, {"glrtr-", 12, nil},
		{"gldt-", 12, parts(20)}, {"glrt-", 12, parts(20, 23)}, {"glft-", 12, parts(20, 25)}, {"glwt-", 12, parts(20)},
		{"xoxb-", 8, numbered}, {"xoxa-", 8, numbered}, {"xoxp-", 8, numbered}, {"xoxr-", 8, numbered},
		{"xoxs-", 8, numbered}, {"xoxe-", 8, numbered}, {"xoxc-", 8, numbered},
		{"xapp-", 8, numbered}, {"xwfp-", 8, numbered}, {"xoxd-", 8, nil},
		{"pypi-", 30, begun("AgE")}, {"AGE-SECRET-KEY-", 20, nil}, {"sq0atp-", 20, nil}, {"sq0csp-", 20, nil},
		{"nvapi-", 20, nil}, {"pplx-", 20, word(48, 53, 56)},
		{"xai-", 40, word(80)}, {"tvly-", 20, parts(32, 36)}, {"PMAK-", 20, parts(59)}, {"tskey-", 16, nil},
		{"csk-", 40, word(48, 52)}, {"GOCSPX-", 20, nil}}
	scored = []prefix{{"ghp_", 12, word(36)}, {"gho_", 12, word(36)}, {"ghs_", 12, word(36)}, {"ghu_", 12, word(36)},
		{"ghr_", 12, word(36, 76)}, {"github_pat_", 12, nil},
		{"hf_", 20, word(34, 37)}, {"npm_", 20, word(36)}, {"hako_", 40, parts(43)}, {"sk_live_", 12, nil},
		{"sk_test_", 12, nil}, {"rk_live_", 12, nil}, {"rk_test_", 12, nil},
		{"dop_v1_", 20, nil}, {"doo_v1_", 20, nil}, {"dor_v1_", 20, nil}, {"whsec_", 20, nil}, {"shpat_", 20, nil},
		{"shpss_", 20, nil}, {"shpca_", 20, nil}, {"shppa_", 20, nil},
		{"dckr_pat_", 20, nil}, {"dckr_oat_", 20, nil}, {"lin_api_", 20, nil}, {"sbp_", 30, word(40)}, {"gsk_", 40, word(52)},
		{"figd_", 30, nil}, {"rubygems_", 40, nil},
		{"sb_secret_", 20, nil}, {"sntrys_", 30, nil}, {"sntryu_", 30, nil}, {"lsv2_pt_", 30, nil}, {"lsv2_sk_", 30, nil},
		{"pcsk_", 40, nil}, {"ntn_", 40, word(46)}, {"glsa_", 32, parts(41)}, {"glc_", 40, begun("eyJ")},
		{"ops_", 60, begun("eyJ")}, {"nfp_", 36, word(36, 40)},
		{"vck_", 40, word(56)}, {"r8_", 36, word(37)}, {"jina_", 40, word(60)}}
	dotted = []prefix{{"ya29.", 20, nil}, {"SG.", 20, nil}, {"hvs.", 20, nil}, {"hvb.", 20, nil}, {"hvr.", 20, nil},
		{"AQ.", 40, nil}}
)

// The same by the letter before the last, which rules nearly all of them out.
var dashedBy, scoredBy, dottedBy = byLetter(dashed), byLetter(scored), byLetter(dotted)

type prefixes [256][]prefix

func byLetter(known []prefix) *prefixes {
	by := new(prefixes)
	for _, p := range known {
		c := p.text[len(p.text)-2]
		by[c] = append(by[c], p)
	}
	return by
}

// others are tokens that are not told by an anchor at the end of their prefix.
var others = []prefix{{"AKIA", 12, nil}, {"ASIA", 12, nil}, {"AIza", 20, nil}, {"eyJ", 17, nil}}

// isToken reports whether a text is a vendor's token and nothing else.
func isToken(text string) bool {
	if span(text, func(c byte) bool { return tokenByte(c) || c == '.' }) < len(text) {
		return false
	}
	for _, known := range [][]prefix{dashed, scored, dotted, others} {
		for _, p := range known {
			body, ok := strings.CutPrefix(text, p.text)
			if ok && len(body) >= p.min && p.fits(body[:span(body, tokenByte)]) {
				return true
			}
		}
	}
	return false
}

// fits reports whether a body has the form of a token. Quotes may be in it, or end
// it: what follows them may be the n of a line break as JSON spells it.
func (p *prefix) fits(body string) bool {
	if p.form == nil {
		return true
	}
	first, kinds := shape(body)
	if first >= p.min && p.form(body[:first], kinds) {
		return true
	}
	if first == len(body) {
		return false
	}
	body = unquoted.Replace(body)
	_, kinds = shape(body)
	return p.form(body, kinds)
}

var unquoted = strings.NewReplacer(`"`, "", `'`, "", `\`, "")

// The kinds of letters of a token.
const (
	small = 1 << iota
	capital
	number
	dash
	bothCases = small | capital
)

var kindOf = letterKinds()

func letterKinds() (kinds [256]byte) {
	for i := range kinds {
		switch c := byte(i); {
		case digit(c):
			kinds[i] = number
		case joins(c):
			kinds[i] = dash
		case letter(c) && c >= 'a':
			kinds[i] = small
		case letter(c):
			kinds[i] = capital
		}
	}
	return kinds
}

// shape returns how many letters of a token s begins with, and of which kinds
// they are.
func shape(s string) (n int, kinds byte) {
	for n < len(s) && kindOf[s[n]] != 0 {
		kinds |= kindOf[s[n]]
		n++
	}
	return n, kinds
}

// oneCase reports whether there are no capital or no small letters.
func oneCase(kinds byte) bool { return kinds&bothCases != bothCases }

// word is the form of letters and digits without dashes: of one case, as hex is
// and random base64 is not, or as long as the vendor makes them.
func word(lengths ...int) form {
	return func(body string, kinds byte) bool {
		return kinds&dash == 0 && (oneCase(kinds) || slices.Contains(lengths, len(body)))
	}
}

// parts is the form of words with dashes between them.
func parts(lengths ...int) form {
	return func(body string, kinds byte) bool { return oneCase(kinds) || slices.Contains(lengths, len(body)) }
}

// begun is the form of what begins with the same letters in every token.
func begun(with string) form {
	return func(body string, _ byte) bool { return strings.HasPrefix(body, with) }
}

// numbered is the form of what begins with a number.
func numbered(body string, kinds byte) bool {
	return oneCase(kinds) || digit(body[0]) && strings.IndexByte(body, '-') > 0
}

// secretKey is the form of what follows sk-, which many vendors use: with the mark
// of OpenAI in it, as long as those of known servers, or a number in hex. The names
// of classes in style sheets (sk-toggleable__content) are none.
func secretKey(body string, kinds byte) bool {
	switch {
	case oneCase(kinds):
		return kinds&number != 0 && hasNumber(body, 10)
	case len(body) == 22, len(body) == 48 && kinds&dash == 0:
		return true
	}
	return strings.Contains(body, "T3BlbkFJ")
}

// hasNumber reports whether some word of a text has a digit and at least so many
// letters.
func hasNumber(s string, least int) bool {
	for s != "" {
		n := span(s, letter)
		if n >= least && strings.ContainsAny(s[:n], "0123456789") {
			return true
		}
		s = s[min(len(s), n+1):]
	}
	return false
}

// The lengths of all keys of Amazon and Google.
const (
	amazonKey = 20
	googleKey = 39
)

// amazon finds AKIA… and ASIA… key names.
func amazon(s string, i, low int) (from, to int) {
	from = i - 2
	if from < low || !begins(s, from) || i+1 >= len(s) || s[i+1] != 'A' {
		return 0, 0
	}
	if name := s[from:i]; name != "AK" && name != "AS" {
		return 0, 0
	}
	to = from + span(s[from:], upperOrDigit)
	if n := to - from; n < 16 || n > amazonKey || to < len(s) && letter(s[to]) {
		return 0, 0
	} else if n < amazonKey && !standsAlone(s, from, to) {
		return 0, 0
	}
	return from, to
}

// google finds AIza… keys.
func google(s string, i, low int) (from, to int) {
	const short, usual = "AIza", "AIzaSy"
	from = i - 2
	if from < low || !strings.HasPrefix(s[from:], short) || !begins(s, from) {
		return 0, 0
	}
	to = from + span(s[from:], tokenByte)
	switch key := s[from:to]; {
	case len(key) == googleKey:
		return from, to
	case len(key) < 24 || !standsAlone(s, from, to):
	default:
		if _, kinds := shape(key[len(short):]); strings.HasPrefix(key, usual) || oneCase(kinds) {
			return from, to
		}
	}
	return 0, 0
}

// wordStarts reports whether a token may begin at s[at], as [begins] does, for one
// whose prefix has a dash: those and letters before it are of the same word, unless
// the word begins with one or two, as in _sk-…_.
func wordStarts(s string, at int) bool {
	if !begins(s, at) {
		return false
	}
	marks := 0
	for marks < at && marks < 3 && joins(s[at-1-marks]) {
		marks++
	}
	return marks == 0 || marks < 3 && begins(s, at-marks)
}

func joins(c byte) bool { return c == '-' || c == '_' }

// standsAlone reports whether a part of a text is not a part of longer base64.
func standsAlone(s string, from, to int) bool {
	return wordStarts(s, from) && (from == 0 || !mixes(s[from-1])) && (to == len(s) || !mixes(s[to]) && !joins(s[to]))
}

func mixes(c byte) bool { return c == '+' || c == '/' }

// padding reports whether s[i], which is =, ends a text in base64 instead of a
// name: …pwd= is as likely there as any other letters.
func padding(s string, i, low int) bool {
	const least = 20
	next := i + 1
	if next < len(s) && s[next] == '=' {
		next++
	}
	if next < len(s) && (base64Byte(s[next]) || blank(s[next])) {
		return false
	}
	kinds, n := 0, 0
	for ; n < 64 && i-n > low && (letter(s[i-1-n]) || mixes(s[i-1-n]) || joins(s[i-1-n])); n++ {
		switch c := s[i-1-n]; {
		case digit(c):
			kinds |= 1
		case c >= 'a':
			kinds |= 2
		case c >= 'A' && c <= 'Z':
			kinds |= 4
		}
	}
	return n >= least && kinds == 7
}
