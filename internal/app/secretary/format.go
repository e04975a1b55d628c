package secretary

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/internal/redact"
	"hako/run/fault"
)

// A Result is the result of an action.
type Result struct {
	Command string  `json:"command"`
	Reason  string  `json:"reason"`
	Output  *Output `json:"result"` // nil means that it did not run
	Error   string  `json:"-"`      // empty means none
	Detail  string  `json:"-"`      // more about the error
	Hint    string  `json:"-"`      // what to do about the error
	Cached  bool    `json:"-"`      // it comes from the cache

	// Denied is the original denial, while Error is worded for the model; nil means that it was not denied.
	Denied *fault.Error `json:"-"`

	Took time.Duration `json:"-"` // without waiting for approval; zero means unknown
}

// An Output is the output of a command.
type Output struct {
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
	ExitCode string `json:"exit_code"` // a string, as clients expect
	Dir      string `json:"cwd"`
	Redacted int    `json:"redacted,omitempty"` // redactions in both streams
}

// MarshalJSON writes an empty error as null.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	var failed *string
	if r.Error != "" {
		failed = &r.Error
	}
	return []byte(jsonText(struct {
		plain
		Error  *string      `json:"error"`
		Hint   string       `json:"hint,omitempty"`
		Denied *fault.Error `json:"denied,omitempty"`
	}{plain(r), failed, r.Hint, r.Denied})), nil
}

// resultsHead begins the message with the results of commands.
const resultsHead = "BASHコマンド実行結果:\n"

// formatResults formats results for the model.
func formatResults(results []Result) string {
	blocks := make([]string, len(results))
	for i := range results {
		blocks[i] = results[i].block()
	}
	return strings.Join(blocks, "\n\n")
}

func (r *Result) block() string {
	var b strings.Builder
	if r.Error == "" && r.Output != nil {
		fmt.Fprintf(&b, "✅ コマンド: %s\n   理由: %s\n   終了コード: %s\n   標準出力:\n%s", r.Command, r.Reason, r.Output.ExitCode,
			trimmed(r.Output.Stdout))
		r.writeStderr(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "❌ コマンド: %s\n   理由: %s\n   エラー: %s", r.Command, r.Reason, r.Error)
	if r.Detail != "" {
		fmt.Fprintf(&b, "\n   詳細: %s", r.Detail)
	}
	if r.Hint != "" {
		fmt.Fprintf(&b, "\n   対処: %s", r.Hint)
	}
	if r.Output != nil && r.Output.Stdout != "" {
		fmt.Fprintf(&b, "\n   標準出力:\n%s", trimmed(r.Output.Stdout))
	}
	r.writeStderr(&b)
	return b.String()
}

func (r *Result) writeStderr(b *strings.Builder) {
	if r.Output != nil && r.Output.Stderr != "" {
		fmt.Fprintf(b, "\n   標準エラー出力:\n%s", trimmed(r.Output.Stderr))
	}
	if r.Output != nil && r.Output.Redacted > 0 {
		fmt.Fprintf(b, "\n   注意: 出力の%dか所の秘密情報を%sに置き換えました（元のデータは変わっていません）", r.Output.Redacted, redact.Mark)
	}
}

func trimmed(text string) string { return strings.TrimSuffix(text, "\n") }

// Prefixes of errors.
const (
	securityError  = "SecurityError: "
	timeoutError   = "TimeoutError: "
	executionError = "ExecutionError: "
)

// errorText returns the error of a command for the model, and a hint.
func (s *Secretary) errorText(err error, timedOut bool, limit time.Duration) (text, hint string) {
	kind := fault.KindOf(err)
	name, unlisted := s.unlisted(err)
	switch {
	case timedOut || kind == fault.Timeout:
		return fmt.Sprintf("%sコマンドがタイムアウトしました: %d秒", timeoutError, int(limit.Seconds())), ""
	case errors.Is(err, context.Canceled):
		return executionError + "中断されました", ""
	case kind == fault.Denied && unlisted:
		return securityError + "コマンドがホワイトリストに登録されていません: " + name, fault.Hint(err)
	case kind == fault.Denied:
		return securityError + oneLine(reason(err)), fault.Hint(err)
	}
	return executionError + oneLine(err.Error()), fault.Hint(err)
}

// noRule is the reason that adds nothing to "not listed".
const noRule = "no rule allows it"

// detail returns why a command is not listed, if the policy gives a reason.
func (s *Secretary) detail(err error) string {
	if _, unlisted := s.unlisted(err); !unlisted || fault.KindOf(err) != fault.Denied {
		return ""
	}
	if why := oneLine(reason(err)); !strings.HasPrefix(why, noRule) {
		return why
	}
	return ""
}

// setError sets the error of a result.
func (s *Secretary) setError(r *Result, err error, timedOut bool, limit time.Duration) {
	text, hint := s.errorText(err, timedOut, limit)
	r.Error, r.Detail, r.Hint = s.redact(text), s.redact(s.detail(err)), s.redact(oneLine(hint))
	if !timedOut {
		r.Denied = s.refusal(err)
	}
}

// refusal returns the denial in err with secrets redacted, or nil.
func (s *Secretary) refusal(err error) *fault.Error {
	var f *fault.Error
	if fault.KindOf(err) != fault.Denied || !errors.As(err, &f) {
		return nil
	}
	return &fault.Error{Kind: fault.Denied, Op: f.Op, Subject: s.redact(f.Subject), Why: s.redact(oneLine(reason(err))),
		Rule: s.redact(f.Rule), Hint: s.redact(oneLine(fault.Hint(err)))}
}

// unlisted reports whether a command itself is not allowed, and its name.
func (s *Secretary) unlisted(err error) (name string, unlisted bool) {
	if s.Unlisted == nil || err == nil {
		return "", false
	}
	name, unlisted = s.Unlisted(err)
	var f *fault.Error
	if name == "" && errors.As(err, &f) {
		name, _, _ = strings.Cut(f.Subject, " ")
	}
	return oneLine(name), unlisted
}

// reason returns why something was denied, without the command, which is shown anyway.
func reason(err error) string {
	var f *fault.Error
	switch {
	case !errors.As(err, &f) || f.Why == "" && f.Err == nil:
		return err.Error()
	case f.Why == "":
		return reason(f.Err)
	case f.Err != nil:
		return f.Why + ": " + f.Err.Error()
	}
	return f.Why
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// printable replaces control and bidirectional formatting characters. It works rune by rune, so that it can be
// applied to pieces of a text.
func printable(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '\n' || c == '\t':
			return c
		case c == '\r':
			return -1
		case unicode.IsControl(c), c == utf8.RuneError, c >= '\u202a' && c <= '\u202e', c >= '\u2066' && c <= '\u2069':
			return utf8.RuneError
		}
		return c
	}, text)
}
