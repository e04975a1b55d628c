package redact

import (
	"slices"
	"strings"
)

// A prefix begins the tokens of a vendor; at least min token bytes follow. Random base64 contains every short
// prefix, so that after a prefix of less than six letters the form must match, too.
type prefix struct {
	text string
	min  int
	form form // nil means any
}

// maxForm is how much of a token is compared with its form.
const maxForm = 256

// A form reports whether a text without quotes, with these kinds of letters, can be the rest of a token.
type form func(body string, kinds byte) bool

// The prefixes, by their last byte, which is the anchor.
var (
	dashPrefixes = []prefix{{"sk-", 12, secretKeyForm}, {"sk-ant-", 8, nil}, {"sk-proj-", 8, nil}, {"sk-svcacct-", 8, nil},
		{"sk-admin-", 8, nil}, {"sk-service-", 8, nil},
		{"sk-None-", 8, nil}, {"sk-or-v1-", 8, nil}, {"sk-live-", 8, nil}, {"sk-test-", 8, nil},
		{"glpat-", 12, nil}, {"glptt-", 12, nil}, {"glsoat-", 12, nil}, {"glcbt-", 12, nil}, {"glimt-", 12, nil},
		{"glagent-", 12, nil}, {"gloas-", 12, nil}, {"glrtr-", 12, nil},
		{"gldt-", 12, dashedForm(20)}, {"glrt-", 12, dashedForm(20, 23)}, {"glft-", 12, dashedForm(20, 25)}, {"glwt-", 12, dashedForm(20)},
		{"xoxb-", 8, numberForm}, {"xoxa-", 8, numberForm}, {"xoxp-", 8, numberForm}, {"xoxr-", 8, numberForm},
		{"xoxs-", 8, numberForm}, {"xoxe-", 8, numberForm}, {"xoxc-", 8, numberForm},
		{"xapp-", 8, numberForm}, {"xwfp-", 8, numberForm}, {"xoxd-", 8, nil},
		{"pypi-", 30, prefixForm("AgE")}, {"AGE-SECRET-KEY-", 20, nil}, {"sq0atp-", 20, nil}, {"sq0csp-", 20, nil},
		{"nvapi-", 20, nil}, {"pplx-", 20, alphanumericForm(48, 53, 56)},
		{"xai-", 40, alphanumericForm(80)}, {"tvly-", 20, dashedForm(32, 36)}, {"PMAK-", 20, dashedForm(59)}, {"tskey-", 16, nil},
		{"csk-", 40, alphanumericForm(48, 52)}, {"GOCSPX-", 20, nil}}
	underscorePrefixes = []prefix{{"ghp_", 12, alphanumericForm(36)}, {"gho_", 12, alphanumericForm(36)}, {"ghs_", 12, alphanumericForm(36)}, {"ghu_", 12, alphanumericForm(36)},
		{"ghr_", 12, alphanumericForm(36, 76)}, {"github_pat_", 12, nil},
		{"hf_", 20, alphanumericForm(34, 37)}, {"npm_", 20, alphanumericForm(36)}, {"hako_", 40, dashedForm(43)}, {"sk_live_", 12, nil},
		{"sk_test_", 12, nil}, {"rk_live_", 12, nil}, {"rk_test_", 12, nil},
		{"dop_v1_", 20, nil}, {"doo_v1_", 20, nil}, {"dor_v1_", 20, nil}, {"whsec_", 20, nil}, {"shpat_", 20, nil},
		{"shpss_", 20, nil}, {"shpca_", 20, nil}, {"shppa_", 20, nil},
		{"dckr_pat_", 20, nil}, {"dckr_oat_", 20, nil}, {"lin_api_", 20, nil}, {"sbp_", 30, alphanumericForm(40)}, {"gsk_", 40, alphanumericForm(52)},
		{"figd_", 30, nil}, {"rubygems_", 40, nil},
		{"sb_secret_", 20, nil}, {"sntrys_", 30, nil}, {"sntryu_", 30, nil}, {"lsv2_pt_", 30, nil}, {"lsv2_sk_", 30, nil},
		{"pcsk_", 40, nil}, {"ntn_", 40, alphanumericForm(46)}, {"glsa_", 32, dashedForm(41)}, {"glc_", 40, prefixForm("eyJ")},
		{"ops_", 60, prefixForm("eyJ")}, {"nfp_", 36, alphanumericForm(36, 40)},
		{"vck_", 40, alphanumericForm(56)}, {"r8_", 36, alphanumericForm(37)}, {"jina_", 40, alphanumericForm(60)}}
	dotPrefixes = []prefix{{"ya29.", 20, nil}, {"SG.", 20, nil}, {"hvs.", 20, nil}, {"hvb.", 20, nil}, {"hvr.", 20, nil},
		{"AQ.", 40, nil}}
)

// The same by the byte before the last, which rules out nearly all of them.
var dashPrefixesBy, underscorePrefixesBy, dotPrefixesBy = indexPrefixes(dashPrefixes), indexPrefixes(underscorePrefixes), indexPrefixes(dotPrefixes)

type prefixes [256][]prefix

func indexPrefixes(known []prefix) *prefixes {
	by := new(prefixes)
	for _, p := range known {
		c := p.text[len(p.text)-2]
		by[c] = append(by[c], p)
	}
	return by
}

// otherPrefixes are those of tokens without an anchor at the end of the prefix.
var otherPrefixes = []prefix{{"AKIA", 12, nil}, {"ASIA", 12, nil}, {"AIza", 20, nil}, {"eyJ", 17, nil}}

// isToken reports whether a text is a vendor's token and nothing else.
func isToken(text string) bool {
	if span(text, func(c byte) bool { return isTokenByte(c) || c == '.' }) < len(text) {
		return false
	}
	for _, known := range [][]prefix{dashPrefixes, underscorePrefixes, dotPrefixes, otherPrefixes} {
		for _, p := range known {
			body, ok := strings.CutPrefix(text, p.text)
			if ok && len(body) >= p.min && p.fits(body[:span(body, isTokenByte)]) {
				return true
			}
		}
	}
	return false
}

// fits reports whether a body has the form of a token. It may contain quotes, or end with them and the n of an
// escaped line break.
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
		case isDigit(c):
			kinds[i] = number
		case isDashOrScore(c):
			kinds[i] = dash
		case isAlphanumeric(c) && c >= 'a':
			kinds[i] = small
		case isAlphanumeric(c):
			kinds[i] = capital
		}
	}
	return kinds
}

// shape returns how many token letters s begins with, and their kinds.
func shape(s string) (n int, kinds byte) {
	for n < len(s) && kindOf[s[n]] != 0 {
		kinds |= kindOf[s[n]]
		n++
	}
	return n, kinds
}

// oneCase reports whether the letters are all capital or all small.
func oneCase(kinds byte) bool { return kinds&bothCases != bothCases }

// alphanumericForm is the form of letters and digits: of one case, as in hex, or of the given lengths.
func alphanumericForm(lengths ...int) form {
	return func(body string, kinds byte) bool {
		return kinds&dash == 0 && (oneCase(kinds) || slices.Contains(lengths, len(body)))
	}
}

// dashedForm is alphanumericForm with dashes.
func dashedForm(lengths ...int) form {
	return func(body string, kinds byte) bool { return oneCase(kinds) || slices.Contains(lengths, len(body)) }
}

// prefixForm is the form of tokens that all begin with the same letters.
func prefixForm(with string) form {
	return func(body string, _ byte) bool { return strings.HasPrefix(body, with) }
}

// numberForm is the form of tokens that begin with a number.
func numberForm(body string, kinds byte) bool {
	return oneCase(kinds) || isDigit(body[0]) && strings.IndexByte(body, '-') > 0
}

// secretKeyForm is the form of what follows sk-, which many vendors use: it contains the mark of OpenAI, has a
// known length, or is a number in hex. CSS classes (sk-toggleable__content) do not match.
func secretKeyForm(body string, kinds byte) bool {
	switch {
	case oneCase(kinds):
		return kinds&number != 0 && hasNumber(body, 10)
	case len(body) == 22, len(body) == 48 && kinds&dash == 0:
		return true
	}
	return strings.Contains(body, "T3BlbkFJ")
}

// hasNumber reports whether some word of a text has a digit and at least so many letters.
func hasNumber(s string, least int) bool {
	for s != "" {
		n := span(s, isAlphanumeric)
		if n >= least && strings.ContainsAny(s[:n], "0123456789") {
			return true
		}
		s = s[min(len(s), n+1):]
	}
	return false
}

// The lengths of the keys of Amazon and Google.
const (
	amazonKey = 20
	googleKey = 39
)

// amazonKeyAt finds AKIA… and ASIA… keys.
func amazonKeyAt(s string, i, low int) (from, to int) {
	from = i - 2
	if from < low || !mayBegin(s, from) || i+1 >= len(s) || s[i+1] != 'A' {
		return 0, 0
	}
	if name := s[from:i]; name != "AK" && name != "AS" {
		return 0, 0
	}
	to = from + span(s[from:], isUpperOrDigit)
	if n := to - from; n < 16 || n > amazonKey || to < len(s) && isAlphanumeric(s[to]) {
		return 0, 0
	} else if n < amazonKey && !standsAlone(s, from, to) {
		return 0, 0
	}
	return from, to
}

// googleKeyAt finds AIza… keys.
func googleKeyAt(s string, i, low int) (from, to int) {
	const short, usual = "AIza", "AIzaSy"
	from = i - 2
	if from < low || !strings.HasPrefix(s[from:], short) || !mayBegin(s, from) {
		return 0, 0
	}
	to = from + span(s[from:], isTokenByte)
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

// wordStarts is [mayBegin] for a prefix with a dash: dashes and letters before it are of the same word, unless
// the word begins with one or two dashes, as in _sk-…_.
func wordStarts(s string, at int) bool {
	if !mayBegin(s, at) {
		return false
	}
	marks := 0
	for marks < at && marks < 3 && isDashOrScore(s[at-1-marks]) {
		marks++
	}
	return marks == 0 || marks < 3 && mayBegin(s, at-marks)
}

func isDashOrScore(c byte) bool { return c == '-' || c == '_' }

// standsAlone reports whether a part of a text is not part of longer base64.
func standsAlone(s string, from, to int) bool {
	return wordStarts(s, from) && (from == 0 || !isPlusOrSlash(s[from-1])) && (to == len(s) || !isPlusOrSlash(s[to]) && !isDashOrScore(s[to]))
}

func isPlusOrSlash(c byte) bool { return c == '+' || c == '/' }

// isBase64Padding reports whether s[i], which is =, ends base64 rather than a name: …pwd= may occur there by
// chance.
func isBase64Padding(s string, i, low int) bool {
	const least = 20
	next := i + 1
	if next < len(s) && s[next] == '=' {
		next++
	}
	if next < len(s) && (isBase64Byte(s[next]) || isBlank(s[next])) {
		return false
	}
	kinds, n := 0, 0
	for ; n < 64 && i-n > low && (isAlphanumeric(s[i-1-n]) || isPlusOrSlash(s[i-1-n]) || isDashOrScore(s[i-1-n])); n++ {
		switch c := s[i-1-n]; {
		case isDigit(c):
			kinds |= 1
		case c >= 'a':
			kinds |= 2
		case c >= 'A' && c <= 'Z':
			kinds |= 4
		}
	}
	return n >= least && kinds == 7
}
