package quota

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
)

// ScriptLimits are the limits of one script. A zero field means the default of [Lenient].
type ScriptLimits struct {
	FileSize int64         // bytes in one file
	Output   int64         // bytes a script may print
	Memory   int64         // bytes its values, files and buffers may hold at once
	Time     time.Duration // from start to end
	Loops    int64         // iterations of shell loops
	Depth    int64         // nested functions, subshells, substitutions
	Files    int64         // files and directories in the private tree
	Stages   int64         // commands in one pipeline
}

// Lenient are the limits for people at their own terminal.
func Lenient() ScriptLimits {
	return ScriptLimits{
		FileSize: 10 << 20, Output: 1 << 30, Memory: 256 << 20, Time: 4 * time.Second,
		Loops: 5_000_000, Depth: 1000, Files: 10_000, Stages: 100,
	}
}

// Strict are the limits for models.
func Strict() ScriptLimits {
	l := Lenient()
	l.Output, l.Depth, l.Stages = 1<<20, 200, 10
	return l
}

// ScriptLimitNames are the names of [ScriptLimits], in the order of the fields.
var ScriptLimitNames = []string{"file_size", "output", "memory", "time", "loops", "depth", "files", "stages"}

// Set sets the limit with the given name, as in "file_size=10MB".
func (l *ScriptLimits) Set(name, value string) error {
	return setLimit("limit", name, value, ScriptLimitNames, []limitField{
		{ParseSize, &l.FileSize}, {ParseSize, &l.Output}, {ParseSize, &l.Memory}, {parseTime, (*int64)(&l.Time)},
		{parseCount, &l.Loops}, {parseCount, &l.Depth}, {parseCount, &l.Files}, {parseCount, &l.Stages},
	}, false)
}

// A limitField is a limit and the parser of its values.
type limitField struct {
	parse func(string) (int64, error)
	value *int64
}

// setLimit sets the field with the given name. kind is what messages call it.
func setLimit(kind, name, value string, names []string, fields []limitField, none bool) error {
	i := slices.Index(names, name)
	if i < 0 {
		return &fault.Error{Kind: fault.Invalid, Op: "set " + kind, Subject: name, Why: "there is no such " + kind,
			Hint: "the " + kind + "s are " + strings.Join(names, ", ")}
	}
	if none && value == "none" {
		*fields[i].value = NoLimit
		return nil
	}
	n, err := fields[i].parse(value)
	if err != nil {
		hint := "sizes are written 10MB or 512KB, times 30s or 2m, counts 1000"
		if none {
			hint += "; none means no limit"
		}
		return &fault.Error{Kind: fault.Invalid, Op: "set " + kind, Subject: name, Err: err, Hint: hint}
	}
	*fields[i].value = n
	return nil
}

// ParseSize parses "10MB", "512KB", "4096". K, M and G are powers of 1024.
func ParseSize(s string) (int64, error) {
	text := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(s), "B"), "I")
	shift := 0
	if n := len(text); n > 0 {
		if i := strings.IndexByte("KMGT", text[n-1]); i >= 0 {
			shift, text = 10*(i+1), text[:n-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 || n > (1<<62)>>shift {
		return 0, fmt.Errorf("%q is not a size above zero", s)
	}
	return n << shift, nil
}

func parseTime(s string) (int64, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		s = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above zero", s)
	}
	return int64(d), nil
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a whole number above zero", s)
	}
	return n, nil
}
