package quota

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hako/run/fault"
)

// ScriptLimits bound one script. A zero field means the default of [Lenient].
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

// Lenient is for people at their own terminal.
func Lenient() ScriptLimits {
	return ScriptLimits{
		FileSize: 10 << 20, Output: 1 << 30, Memory: 256 << 20, Time: 4 * time.Second,
		Loops: 5_000_000, Depth: 1000, Files: 10_000, Stages: 100,
	}
}

// Strict is for models.
func Strict() ScriptLimits {
	l := Lenient()
	l.Output, l.Depth, l.Stages = 1<<20, 200, 10
	return l
}

// ScriptLimitNames lists the names [Limits.Set] knows, in the order of the fields.
var ScriptLimitNames = []string{"file_size", "output", "memory", "time", "loops", "depth", "files", "stages"}

// Set changes the limit with the given name, as in "file_size=10MB".
func (l *ScriptLimits) Set(name, value string) error {
	var err error
	switch name {
	case "time":
		l.Time, err = parseTime(value)
	case "file_size":
		l.FileSize, err = ParseSize(value)
	case "output":
		l.Output, err = ParseSize(value)
	case "memory":
		l.Memory, err = ParseSize(value)
	case "loops":
		l.Loops, err = parseCount(value)
	case "depth":
		l.Depth, err = parseCount(value)
	case "files":
		l.Files, err = parseCount(value)
	case "stages":
		l.Stages, err = parseCount(value)
	default:
		return &fault.Error{Kind: fault.Invalid, Op: "set limit", Subject: name, Why: "there is no such limit",
			Hint: "the limits are " + strings.Join(ScriptLimitNames, ", ")}
	}
	if err != nil {
		return &fault.Error{Kind: fault.Invalid, Op: "set limit", Subject: name, Err: err,
			Hint: "sizes are written 10MB or 512KB, times 30s or 2m, counts 1000"}
	}
	return nil
}

// ParseSize reads "10MB", "512KB", "4096". K, M and G are powers of 1024.
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

func parseTime(s string) (time.Duration, error) {
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		s = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is not a time above zero", s)
	}
	return d, nil
}

func parseCount(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n <= 0 {
		return 0, fmt.Errorf("%q is not a whole number above zero", s)
	}
	return n, nil
}
