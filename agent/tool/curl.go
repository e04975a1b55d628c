package tool

import (
	"context"
	_ "embed"
	"errors"
	"sync"

	"hako/internal/websearch"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/spec"
)

//go:embed curl.txt
var curlText string

// curlSpec is the spec of curl, which is a command of execute alone.
var curlSpec = sync.OnceValue(func() *spec.Spec { return spec.MustParse(curlText) })

// Exit statuses of curl.
const (
	curlUnresolved = 6
	curlStatus     = 22
	curlTooLarge   = 63
)

// curl returns the command curl, which only fetches URLs that f allows.
func curl(f *websearch.Fetcher) shell.Command {
	return shell.Command{
		Name: "curl", Spec: curlSpec(),
		Run: func(ctx context.Context, c *shell.Call) error { return runCurl(ctx, c, f) },
	}
}

func runCurl(ctx context.Context, c *shell.Call, f *websearch.Fetcher) error {
	a, err := reader{Spec: curlSpec()}.sortOut(append([]string{"curl"}, c.Args...))
	if r, ok := errors.AsType[*refused](err); ok {
		return &fault.Error{Kind: fault.Denied, Op: "curl", Why: r.why, Rule: r.rule, Hint: r.hint}
	}
	if err != nil {
		return err
	}
	if len(a.operands) == 0 {
		return shell.ErrUsage
	}
	for _, u := range a.operands {
		if err := fetchTo(ctx, c, f, u.value); err != nil {
			return err
		}
	}
	return nil
}

// fetchTo prints one page.
func fetchTo(ctx context.Context, c *shell.Call, f *websearch.Fetcher, address string) error {
	if _, err := f.Allow(address); err != nil {
		return err
	}
	if err := c.Limiter.Hold(f.Limit()); err != nil {
		return err
	}
	defer c.Limiter.Hold(-f.Limit())
	c.Limiter.Extend(f.Wait()) // the time limit of a script does not include waiting for a server
	page, err := f.Get(ctx, address)
	if err != nil {
		return curlError(c, err)
	}
	_, err = c.Stdout.Write(page.Body)
	return err
}

// curlError prints an error of the server or network. A refusal or limit of ours is returned and ends the script.
func curlError(c *shell.Call, err error) error {
	status := curlStatus
	switch fault.KindOf(err) {
	case fault.Unavailable:
		status = curlUnresolved
	case fault.TooLarge:
		status = curlTooLarge
	case fault.NotFound, fault.Invalid:
	default:
		return err
	}
	c.Warn("%v", err)
	if hint := fault.Hint(err); hint != "" {
		c.Warn("hint: %s", hint)
	}
	return shell.Status(status)
}

// Commands returns the commands of execute: those of all that it knows, restricted to text files, and curl.
func Commands(all shell.Set, f *websearch.Fetcher) shell.Set {
	set := shell.Set{"curl": curl(f)}
	for _, name := range Names() {
		if c, ok := all[name]; ok && name != "curl" {
			r, _ := readerOf(name)
			set[name] = textual(c, r)
		}
	}
	return set
}
