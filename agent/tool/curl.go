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

// What curl ends with, as the real one does.
const (
	curlUnresolved = 6
	curlStatus     = 22
	curlTooLarge   = 63
)

// Curl returns the command curl, which gets pages by way of f and can do nothing else.
func Curl(f *websearch.Fetcher) shell.Command {
	return shell.Command{
		Name: "curl", Spec: curlSpec(),
		Run: func(ctx context.Context, c *shell.Call) error { return runCurl(ctx, c, f) },
	}
}

func runCurl(ctx context.Context, c *shell.Call, f *websearch.Fetcher) error {
	a, err := reader{Spec: curlSpec()}.sortOut(append([]string{"curl"}, c.Args...))
	var r *refused
	if errors.As(err, &r) {
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
	c.Limiter.Extend(f.Wait()) // the clock of a script measures work, not waiting for a server
	page, err := f.Get(ctx, address)
	if err != nil {
		return curlError(c, err)
	}
	_, err = c.Stdout.Write(page.Body)
	return err
}

// curlError prints what went wrong out there. A refusal or limit of ours is passed on and ends the script.
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

// Commands picks from all commands those that execute knows, holds them to files that are text, and adds curl. A runner
// for execute needs no others.
func Commands(all shell.Set, f *websearch.Fetcher) shell.Set {
	set := shell.Set{"curl": Curl(f)}
	for _, name := range Names() {
		if c, ok := all[name]; ok && name != "curl" {
			r, _ := readerOf(name)
			set[name] = textual(c, r)
		}
	}
	return set
}
