package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/quota"
)

// A kind is how the value of a setting is written.
type kind struct {
	parse  func(setting) (any, error)
	zero   any                    // the value if there is none
	bounds string                 // "from 1 to 64", or the words it may be
	list   bool                   // several words
	fields []string               // of a table with named rows: what each row has; nil means that it is no table
	tree   bool                   // parse reads the YAML tree; it can only be set in a file
	secret bool                   // a file that sets it must be readable by its owner only
	hidden func(setting) []string // the secrets in a value; nil means all of it if it is secret, else none
}

// kindOf makes a kind of a parser.
func kindOf[T any](parse func(setting) (T, error)) kind {
	var zero T
	return kind{zero: zero, parse: func(s setting) (any, error) { return parse(s) }}
}

func listKind[T any](parse func(setting) (T, error)) kind {
	k := kindOf(parse)
	k.list = true
	return k
}

func tableKind[T any](fields string, parse func(setting) (T, error)) kind {
	k := kindOf(parse)
	k.fields = strings.Fields(fields)
	return k
}

func secretKind(hidden func(setting) []string) kind {
	k := kindOf(secret)
	k.secret, k.hidden = true, hidden
	return k
}

// kinds makes a kind of its name in settings.txt and the words that follow it.
var kinds = map[string]func(args []string) kind{
	"bool":          func([]string) kind { return kindOf(truth) },
	"int":           func(a []string) kind { return kindOf(between(atoi(a[0]), atoi(a[1]))) },
	"int64":         func(a []string) kind { return kindOf(between(int64(atoi(a[0])), int64(atoi(a[1])))) },
	"int-of":        func(a []string) kind { return kindOf(intOf(a)) },
	"float":         func(a []string) kind { return kindOf(floatBetween(atof(a[0]), atof(a[1]))) },
	"size":          func(a []string) kind { return kindOf(sizeBetween(atosize(a[0]), atosize(a[1]))) },
	"duration":      parseDurationKind,
	"duration-or-0": func(a []string) kind { return kindOf(durationOrZero(atod(a[0]), atod(a[1]))) },
	"delay":         func([]string) kind { return kindOf(delay) },
	"one-of":        func(a []string) kind { return kindOf(oneOf(a...)) },

	"text":         func([]string) kind { return kindOf(text) },
	"prose":        func([]string) kind { return kindOf(prose) },
	"file":         func([]string) kind { return kindOf(file) },
	"url":          func([]string) kind { return kindOf(address) },
	"host-url":     func([]string) kind { return kindOf(hostAddress) },
	"secret":       func([]string) kind { return secretKind(nil) },
	"words":        func([]string) kind { return listKind(words) },
	"urls":         func([]string) kind { return listKind(urlPrefixes) },
	"directories":  func([]string) kind { return listKind(directories) },
	"root-paths":   func([]string) kind { return listKind(rootPaths) },
	"commands":     func([]string) kind { return listKind(commands) },
	"repositories": func(a []string) kind { return listKind(repositories(atoi(a[0]))) },

	"account":              func([]string) kind { return kindOf(accountName) },
	"author":               func([]string) kind { return kindOf(author) },
	"environment":          func([]string) kind { return kindOf(environmentName) },
	"environments":         func([]string) kind { return tableKind("image", environments) },
	"granted-repositories": func([]string) kind { return listKind(grantedRepositories) },
	"image":                func([]string) kind { return kindOf(imageName) },
	"keep-alive":           func([]string) kind { return kindOf(keepAlive) },
	"label":                func([]string) kind { return kindOf(labelName) },
	"listen-address":       func([]string) kind { return kindOf(listenAddress) },
	"mcp-servers":          mcpKind,
	"model-weights":        func([]string) kind { return tableKind(weightFields, modelWeights) },
	"nats-servers":         natsKind,
	"presets":              func([]string) kind { return tableKind("about text", presets) },
	"prompts":              func([]string) kind { return tableKind("text", prompts) },
	"queue-name":           func([]string) kind { return kindOf(queueName) },
	"read-size":            func([]string) kind { return kindOf(readSize) },
	"script-limit":         func(a []string) kind { return kindOf(limit(a[0], (*quota.ScriptLimits).Set)) },
	"secret-or-variable":   func([]string) kind { return secretKind(realKey) },
	"secretary-commands":   func([]string) kind { return tableKind("script", userCommands) },
	"task-limit":           func(a []string) kind { return kindOf(limit(a[0], (*quota.Limits).Set)) },
	"temperature":          func([]string) kind { return kindOf(temperature) },
	"uuid":                 func([]string) kind { return kindOf(uuid) },
	"weight":               func([]string) kind { return kindOf(weight) },
}

// ranged are the kinds whose two arguments are a range.
var ranged = []string{"int", "int64", "float", "size", "duration", "duration-or-0"}

// parseKind reads a kind. After "optional" an empty value sets the zero value.
func parseKind(words []string) kind {
	if words[0] == "optional" {
		k := parseKind(words[1:])
		inner, zero := k.parse, k.zero
		k.parse = func(s setting) (any, error) {
			if s.words[0] == "" {
				return zero, nil
			}
			return inner(s)
		}
		return k
	}
	k := kinds[words[0]](words[1:])
	if slices.Contains(ranged, words[0]) && len(words) == 3 {
		k.bounds = "from " + words[1] + " to " + words[2]
	}
	return k
}

// The numbers in settings.txt; a test parses all of them.

func atoi(s string) int { n, _ := strconv.Atoi(s); return n }

func atof(s string) float64 { f, _ := strconv.ParseFloat(s, 64); return f }

func atod(s string) time.Duration { d, _ := time.ParseDuration(s); return d }

func atosize(s string) size { n, _ := quota.ParseSize(s); return size(n) }

func mcpKind([]string) kind {
	k := kindOf(parseMCP)
	k.tree, k.hidden = true, mcpSecrets
	return k
}

func natsKind([]string) kind {
	k := kindOf(natsServers)
	k.hidden = serverPasswords
	return k
}

func words(s setting) ([]string, error) { return s.words, nil }

func oneOf(names ...string) func(setting) (string, error) {
	return func(s setting) (string, error) {
		if slices.Contains(names, s.words[0]) {
			return s.words[0], nil
		}
		return "", fmt.Errorf("%q is not one of %s", s.words[0], strings.Join(names, ", "))
	}
}

func truth(s setting) (bool, error) {
	switch strings.ToLower(s.words[0]) {
	case "true", "yes", "on", "1":
		return true, nil
	case "false", "no", "off", "0":
		return false, nil
	}
	return false, fmt.Errorf("%q is neither true nor false", s.words[0])
}

func between[T int | int64](low, high T) func(setting) (T, error) {
	return func(s setting) (T, error) {
		n, err := strconv.ParseInt(s.words[0], 10, 64)
		if err != nil || T(n) < low || T(n) > high || int64(T(n)) != n {
			return 0, fmt.Errorf("%q is not a whole number from %d to %d", s.words[0], low, high)
		}
		return T(n), nil
	}
}

func intOf(numbers []string) func(setting) (int, error) {
	return func(s setting) (int, error) {
		n, err := strconv.Atoi(s.words[0])
		if err != nil || !slices.Contains(numbers, strconv.Itoa(n)) {
			return 0, fmt.Errorf("%q is not one of %v", s.words[0], numbers)
		}
		return n, nil
	}
}

func floatBetween(low, high float64) func(setting) (float64, error) {
	return func(s setting) (float64, error) {
		word := strings.TrimSpace(s.words[0])
		f, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(f) || f < low || f > high || strings.ContainsAny(word, "xX_") {
			return 0, fmt.Errorf("%q is not a number from %v to %v", word, low, high)
		}
		return f, nil
	}
}

// A size is a number of bytes.
type size int64

// String returns it as it is written in the settings: 2GB, 1536KB, 100.
func (n size) String() string {
	for i, unit := range []string{"TB", "GB", "MB", "KB"} {
		if whole := size(1) << (10 * (4 - i)); n >= whole && n%whole == 0 {
			return strconv.FormatInt(int64(n/whole), 10) + unit
		}
	}
	return strconv.FormatInt(int64(n), 10)
}

func sizeBetween(low, high size) func(setting) (size, error) {
	return func(s setting) (size, error) {
		n, err := quota.ParseSize(s.words[0])
		if err != nil || size(n) < low || size(n) > high {
			return 0, fmt.Errorf("%q is not a size from %v to %v", s.words[0], low, high)
		}
		return size(n), nil
	}
}

// limit parses the limit of that name of package quota. The value stays as it is written.
func limit[T any](name string, set func(to *T, name, value string) error) func(setting) (string, error) {
	return func(s setting) (string, error) { return s.words[0], set(new(T), name, s.words[0]) }
}

// parseDuration reads a duration; a bare number means seconds.
func parseDuration(word string) (time.Duration, error) {
	if _, err := strconv.Atoi(word); err == nil {
		word += "s"
	}
	return time.ParseDuration(word)
}

func parseDurationKind(args []string) kind {
	if len(args) == 0 {
		return kindOf(duration)
	}
	return kindOf(durationBetween(atod(args[0]), atod(args[1])))
}

func duration(s setting) (time.Duration, error) {
	d, err := parseDuration(s.words[0])
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above zero, as 30s or 5m", s.words[0])
	}
	return d, nil
}

func durationBetween(low, high time.Duration) func(setting) (time.Duration, error) {
	return func(s setting) (time.Duration, error) {
		d, err := duration(s)
		if err != nil || d < low || d > high {
			return 0, fmt.Errorf("%q is not a time from %s to %s", s.words[0], brief(low), brief(high))
		}
		return d, nil
	}
}

// durationOrZero also accepts 0, for never.
func durationOrZero(low, high time.Duration) func(setting) (time.Duration, error) {
	return func(s setting) (time.Duration, error) {
		if word := s.words[0]; word == "0" || word == "0s" {
			return 0, nil
		}
		d, err := durationBetween(low, high)(s)
		if err != nil {
			return 0, fmt.Errorf("%v, or 0", err)
		}
		return d, nil
	}
}

// brief formats a duration as 1h, not 1h0m0s.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func delay(s setting) (time.Duration, error) {
	d, err := parseDuration(s.words[0])
	if err != nil || d < 0 || d > time.Minute {
		return 0, fmt.Errorf("%q is not a time from 0s to 60s", s.words[0])
	}
	return d, nil
}

// file reads the name of a file. In a settings file it is relative to that file's directory, elsewhere to the
// current directory; ~/ is the user's home.
func file(s setting) (string, error) {
	name := s.words[0]
	switch {
	case name == "":
		return "", errors.New("the name is empty")
	case strings.HasPrefix(name, "~/"):
		return filepath.Join(s.home, name[2:]), nil
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	}
	return filepath.Join(s.base, name), nil
}
