package redact

func span(s string, in func(byte) bool) int {
	for i := range len(s) {
		if !in(s[i]) {
			return i
		}
	}
	return len(s)
}

func isAlphanumeric(c byte) bool     { return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' }
func isTokenByte(c byte) bool        { return isAlphanumeric(c) || c == '_' || c == '-' }
func nameByte(c byte) bool           { return isTokenByte(c) }
func isWebTokenByte(c byte) bool     { return isTokenByte(c) || c == '.' || c == '=' }
func isBase64Byte(c byte) bool       { return isWebTokenByte(c) || c == '+' || c == '/' || c == '~' }
func isUpperOrDigit(c byte) bool     { return c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' }
func isBlank(c byte) bool            { return c == ' ' || c == '\t' }
func isDigit(c byte) bool            { return c >= '0' && c <= '9' }
func isDash(c byte) bool             { return c == '-' }
func isEquals(c byte) bool           { return c == '=' }
func isQuoteOrBackslash(c byte) bool { return isQuote(c) || c == '\\' }
func isURLByte(c byte) bool          { return c > ' ' && !isQuote(c) }
func isAuthorityByte(c byte) bool {
	return c > ' ' && c != '/' && c != '"' && c != '\'' && c != '?' && c != '#'
}
func isValueByte(c byte) bool {
	return c > ' ' && c != '"' && c != '\'' && c != '&' && c != ';' && c != ',' && c != '|' && c != '}' && c != ')'
}
