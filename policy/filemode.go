package policy

import "strings"

// sameMode reports whether a file mode grants what the rule's mode grants: 777, 0777, a+rwx, ugo=rwx and
// u+rwx,g+rwx,o+rwx are the same mode. A word that is not a mode is compared as text.
func sameMode(mode, want string) bool {
	if mode == want {
		return true
	}
	got, ok := parseMode(mode)
	wanted, isMode := parseMode(want)
	return ok && isMode && got&0o777 == wanted&0o777
}

// modeWords returns the mode in the arguments of chmod: all words such as -w, or else the first operand.
func modeWords(args []string) string {
	var dashed []string
	for i, a := range args {
		switch {
		case a == "--" && dashed == nil && i+1 < len(args):
			return args[i+1]
		case a == "--":
			return strings.Join(dashed, ",")
		case len(a) < 2 || a[0] != '-':
			if dashed == nil {
				return a
			}
		case a[1] != '-' && strings.Trim(a[1:], "RfvcHLPh") != "":
			dashed = append(dashed, a)
		}
	}
	return strings.Join(dashed, ",")
}

// parseMode parses an octal or symbolic file mode. A symbolic mode is applied to a file without permissions.
func parseMode(s string) (mode int, ok bool) {
	if s == "" || len(s) > 64 {
		return 0, false
	}
	if strings.Trim(s, "01234567") == "" {
		for _, c := range s {
			mode = mode<<3&0o7777 | int(c-'0')
		}
		return mode, true
	}
	for _, clause := range strings.Split(s, ",") {
		bits, ok := parseClause(clause, mode)
		if !ok {
			return 0, false
		}
		mode |= bits
	}
	return mode, true
}

// parseClause parses u=rwx, or go=u, which copies permissions.
func parseClause(s string, have int) (bits int, ok bool) {
	at := strings.IndexAny(s, "+-=")
	if at < 0 {
		return 0, false
	}
	who := 0
	for _, c := range s[:at] {
		switch c {
		case 'u':
			who |= 0o700
		case 'g':
			who |= 0o070
		case 'o':
			who |= 0o007
		case 'a':
			who |= 0o777
		default:
			return 0, false
		}
	}
	if who == 0 {
		who = 0o777
	}
	if digits := s[at+1:]; digits != "" && strings.Trim(digits, "01234567") == "" { // +777
		bits, _ = parseMode(digits)
		return bits, s[at] != '-'
	}
	removing := false
	for _, c := range s[at:] {
		grant := 0
		switch c {
		case '+', '=':
			removing = false
		case '-':
			removing = true
		case 'r':
			grant = 0o444
		case 'w':
			grant = 0o222
		case 'x', 'X':
			grant = 0o111
		case 'u':
			grant = 0o111 * (have >> 6 & 7)
		case 'g':
			grant = 0o111 * (have >> 3 & 7)
		case 'o':
			grant = 0o111 * (have & 7)
		case 's', 't':
		default:
			return 0, false
		}
		if !removing {
			bits |= grant & who
		}
	}
	return bits, true
}
