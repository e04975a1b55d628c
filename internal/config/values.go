package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/internal/lazyregexp"
)

// text reads a value of one line.
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

// maxProse limits instructions, which are sent with every request.
const maxProse = 64 << 10

// prose reads a text of any number of lines.
func prose(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	control := func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' }
	switch {
	case word == "":
		return "", errors.New("the text is empty")
	case len(word) > maxProse:
		return "", fmt.Errorf("the text has %d bytes, at most %d are taken", len(word), maxProse)
	case !utf8.ValidString(word):
		return "", errors.New("the text is not UTF-8")
	case strings.ContainsFunc(word, control):
		return "", errors.New("the text has control characters in it")
	}
	return word, nil
}

// secret reads a key. Errors do not show it.
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

// address reads the URL of a service. It may not contain a password, because URLs are shown and recorded.
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

// hostAddress reads the forms of OLLAMA_HOST: a URL, a host, a port, or host:port. It returns them unchanged.
func hostAddress(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	scheme, _, hasScheme := strings.Cut(word, "://")
	switch {
	case word == "":
		return "", errors.New("the value is empty")
	case strings.Contains(word, "@"):
		return "", errPassword
	case strings.ContainsFunc(word, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }),
		hasScheme && scheme != "http" && scheme != "https":
		return "", errors.New("it is not an address such as http://127.0.0.1:11434 or host:port")
	}
	return word, nil
}

// keepAlive reads a duration as Ollama writes it: 10m, 300 (seconds), -1 (for ever).
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

// listenAddress reads host:port, or :port for every address.
func listenAddress(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	if at := strings.LastIndexByte(word, ':'); at >= 0 {
		port, err := strconv.ParseUint(word[at+1:], 10, 16)
		u, invalid := url.Parse("http://" + word)
		if err == nil && invalid == nil && u.Host == word && strconv.FormatUint(port, 10) == word[at+1:] {
			return word, nil
		}
	}
	return "", fmt.Errorf("%q is not an address to listen at such as 127.0.0.1:9464", word)
}

// urlPrefixes reads a list of URLs.
func urlPrefixes(s setting) ([]string, error) {
	for _, word := range s.words {
		u, err := url.Parse(word)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" || u.User != nil {
			return nil, fmt.Errorf("%q is not an address such as https://example.com/docs/", word)
		}
	}
	return s.words, nil
}

// directories reads full paths. A relative path could lead into the tree that programs are kept out of.
func directories(s setting) ([]string, error) {
	dirs := make([]string, len(s.words))
	for i, word := range s.words {
		if !strings.HasPrefix(word, "~/") && !filepath.IsAbs(word) {
			return nil, fmt.Errorf("%q is not a full path such as /opt/tools/bin", word)
		}
		dir, err := file(setting{words: []string{word}, home: s.home})
		if err != nil {
			return nil, err
		}
		dirs[i] = dir
	}
	return dirs, nil
}

// rootPaths reads names below the root.
func rootPaths(s setting) ([]string, error) {
	names := make([]string, len(s.words))
	for i, word := range s.words {
		names[i] = filepath.ToSlash(filepath.Clean(word))
		if word == "" || names[i] == "." || !filepath.IsLocal(word) {
			return nil, fmt.Errorf("%q is not a name in the root such as .git/hooks", word)
		}
	}
	return names, nil
}

// commands reads a list of shell commands.
func commands(s setting) ([]string, error) {
	all := make([]string, len(s.words))
	for i, word := range s.words {
		line, err := text(setting{words: []string{word}})
		if err != nil {
			return nil, err
		}
		all[i] = line
	}
	return all, nil
}

var (
	authorForm      = lazyregexp.New(`^[^<>\s][^<>]* <[^<>\s]+>$`)
	queueForm       = lazyregexp.New(`^[A-Za-z0-9_-]{1,32}$`)
	environmentForm = lazyregexp.New(`^[a-z][a-z0-9_-]{0,31}$`)
	imageForm       = lazyregexp.New(`^[a-zA-Z0-9][a-zA-Z0-9._/:@-]{0,254}$`)
	accountForm     = lazyregexp.New(`^[A-Za-z0-9_.+-]{1,255}(\[bot\])?$`)
)

// matching returns word if it has the form, or an error that begins with the quoted word.
func matching(word string, form *regexp.Regexp, otherwise string) (string, error) {
	if !form.MatchString(word) {
		return "", fmt.Errorf("%q %s", word, otherwise)
	}
	return word, nil
}

func author(s setting) (string, error) {
	word, err := text(s)
	if err != nil {
		return "", err
	}
	return matching(word, authorForm.Get(), "is not an author such as Hako Bot <bot@example.com>")
}

func queueName(s setting) (string, error) {
	return matching(s.words[0], queueForm.Get(), "is not a name of 1 to 32 letters, digits, - and _")
}

func environmentName(s setting) (string, error) {
	return matching(s.words[0], environmentForm.Get(), "is not the name of an environment such as python")
}

func imageName(s setting) (string, error) {
	return matching(s.words[0], imageForm.Get(),
		"is not the name of an image such as coding-agent-executor-python:latest")
}

func accountName(s setting) (string, error) {
	return matching(strings.TrimSpace(s.words[0]), accountForm.Get(),
		"is not the name of an account; it is written without @")
}

// labelName reads a label. Forges separate labels with commas.
func labelName(s setting) (string, error) {
	word, err := text(s)
	switch {
	case err != nil:
		return "", err
	case strings.Contains(word, ","), utf8.RuneCountInString(word) > 50:
		return "", fmt.Errorf("%q is not a label: it has at most 50 characters and no comma", word)
	}
	return word, nil
}

// environments reads the images of environments; one without an image has the base image.
func environments(s setting) (map[string]string, error) {
	return tableValues(s, "image", func(v setting) (string, error) {
		if v.words[0] == "" {
			return "", nil
		}
		return imageName(v)
	}, func(name string) error {
		_, err := environmentName(setting{words: []string{name}})
		return err
	})
}

// tableValues reads a table whose rows have one field.
func tableValues(s setting, field string, parse func(setting) (string, error), checkName func(string) error) (
	map[string]string, error) {
	all := make(map[string]string)
	for _, r := range s.rows {
		if err := checkName(r.name); err != nil {
			return nil, err
		}
		value, err := parse(setting{words: []string{r.fields[field]}})
		if err != nil {
			return nil, fmt.Errorf("%s: %v", r.name, err)
		}
		all[r.name] = value
	}
	return all, nil
}

// reservedCommands are commands of the secretary that users cannot redefine.
var reservedCommands = []string{"todo", "search", "bg", "job", "help"}

// userCommands reads scripts by name.
func userCommands(s setting) (map[string]string, error) {
	return tableValues(s, "script", prose, func(name string) error {
		switch {
		case !isCommandName(name):
			return fmt.Errorf("%q cannot be the name of a command: it has letters, digits, _ and -", name)
		case slices.Contains(reservedCommands, strings.ToLower(name)):
			return fmt.Errorf("@%s is a command that hako has; choose another name", name)
		}
		return nil
	})
}

// isCommandName reports whether a name can stand after @ and ends where it seems to.
func isCommandName(name string) bool {
	other := func(r rune) bool { return !unicode.In(r, unicode.L, unicode.M, unicode.N) && r != '_' && r != '-' }
	return name != "" && len(name) <= 64 && name[0] != '-' && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, other)
}

func uuid(s setting) (string, error) {
	word := strings.TrimSpace(s.words[0])
	digits, err := hex.DecodeString(strings.ReplaceAll(word, "-", ""))
	if err != nil || len(digits) != 16 || len(word) != 36 || word[8] != '-' || word[13] != '-' || word[18] != '-' ||
		word[23] != '-' {
		return "", fmt.Errorf("%q is not a UUID such as 3c37646f-3881-5374-2a83-149267990abc", word)
	}
	return word, nil
}

// servers are comma-separated URLs of NATS servers. They may contain passwords: String omits them, string(s) does
// not.
type servers string

// String returns the URLs without names and passwords.
func (s servers) String() string {
	all := splitList(string(s))
	for i, one := range all {
		if scheme, host := withoutUser(one); host != "" {
			all[i] = scheme + "[redacted]@" + host
		}
	}
	return strings.Join(all, ", ")
}

// withoutUser returns what stands before and after the name and password of a URL; empty if there are none.
func withoutUser(address string) (scheme, host string) {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return "", ""
	}
	if before, _, ok := strings.Cut(address, "://"); ok {
		scheme = before + "://"
	}
	return scheme, address[at+1:]
}

// natsServers does not show an invalid URL, because it may contain a password.
func natsServers(s setting) (servers, error) {
	for _, one := range splitList(s.words[0]) {
		if !strings.Contains(one, "://") {
			one = "nats://" + one
		}
		u, err := url.Parse(one)
		if err != nil || !slices.Contains([]string{"nats", "tls", "ws", "wss"}, u.Scheme) || u.Hostname() == "" ||
			strings.ContainsFunc(one, unicode.IsSpace) {
			return "", errors.New("it is not an address such as nats://127.0.0.1:4222, or several with commas between")
		}
	}
	return servers(strings.TrimSpace(s.words[0])), nil
}

// serverPasswords returns the passwords in URLs, as written and unescaped. A name without a password is a token.
func serverPasswords(s setting) (all []string) {
	for _, one := range splitList(strings.Join(s.words, ",")) {
		scheme, host := withoutUser(one)
		if host == "" {
			continue
		}
		word := strings.TrimSuffix(strings.TrimPrefix(one, scheme), "@"+host)
		if _, password, ok := strings.Cut(word, ":"); ok {
			word = password
		}
		if plain, err := url.PathUnescape(word); err == nil && plain != word {
			all = append(all, plain)
		}
		all = append(all, word)
	}
	return all
}
