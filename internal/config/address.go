package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// More ways in which values are written: names, keys and addresses.

// text reads a value that fits on a line.
func text(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	switch {
	case word == "":
		return "", errors.New("the value is empty")
	case strings.ContainsFunc(word, unicode.IsControl):
		return "", fmt.Errorf("%q has control characters in it", word)
	}
	return word, nil
}

// secret reads a key. What is wrong with one is told without showing it.
func secret(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	switch {
	case word == "":
		return "", errors.New("the key is empty")
	case strings.ContainsFunc(word, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("there is a character in it that no key has, such as a space")
	}
	return word, nil
}

// address reads where a service is. It has no password in it: addresses are
// shown and written down.
func address(s setting) (string, error) {
	word := strings.TrimRight(strings.TrimSpace(s.words[0]), "/")
	u, err := url.Parse(word)
	switch {
	case strings.Contains(word, "@"):
		return "", errPassword
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "":
		return "", fmt.Errorf("%q is not an address such as https://example.com/v1", word)
	case strings.ContainsAny(word, "?#"):
		return "", fmt.Errorf("%q goes on after its path", word)
	}
	return word, nil
}

var errPassword = errors.New("an address with a name or password in it is not taken")

// hostAddress reads what people put into OLLAMA_HOST: an address, or just a
// host, a port or both. It is not made into anything else here.
func hostAddress(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	scheme, _, given := strings.Cut(word, "://")
	switch {
	case word == "":
		return "", errors.New("the value is empty")
	case strings.Contains(word, "@"):
		return "", errPassword
	case strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }),
		given && scheme != "http" && scheme != "https":
		return "", errors.New("it is not an address such as http://127.0.0.1:11434 or host:port")
	}
	return word, nil
}

// keepAlive reads a time as Ollama writes it: 10m, 300 (seconds), -1 (for ever).
func keepAlive(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	if _, err := strconv.Atoi(word); err == nil {
		return word, nil
	}
	if _, err := time.ParseDuration(word); err == nil {
		return word, nil
	}
	return "", fmt.Errorf("%q is not a time such as 10m, or -1 for ever", word)
}
