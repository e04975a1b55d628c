package redact

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

func letter(c byte) bool       { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
func tokenByte(c byte) bool    { return letter(c) || c == '_' || c == '-' }
func nameByte(c byte) bool     { return tokenByte(c) }
func webTokenByte(c byte) bool { return tokenByte(c) || c == '.' || c == '=' }
func base64Byte(c byte) bool   { return webTokenByte(c) || c == '+' || c == '/' || c == '~' }
func upperOrDigit(c byte) bool { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
func blank(c byte) bool        { return c == ' ' || c == '\t' }
func digit(c byte) bool        { return c >= '0' && c <= '9' }
func isDash(c byte) bool       { return c == '-' }
func equals(c byte) bool       { return c == '=' }
func quoting(c byte) bool      { return quote(c) || c == '\\' }
func urlByte(c byte) bool      { return c > ' ' && !quote(c) }
func authorityByte(c byte) bool {
	return c > ' ' && c != '/' && c != '"' && c != '\'' && c != '?' && c != '#'
}
func valueByte(c byte) bool {
	return c > ' ' && c != '"' && c != '\'' && c != '&' && c != ';' && c != ',' && c != '|' && c != '}' && c != ')'
}
