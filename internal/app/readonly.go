package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hako/agent/tool"
	"hako/audit"
	"hako/internal/config"
	"hako/internal/redact"
	"hako/internal/setup"
	"hako/internal/websearch"
	"hako/quota"
	"hako/run/fault"
	"hako/shell"
)

// ReadOnlyOptions configure execute: read-only commands over granted files.
type ReadOnlyOptions struct {
	setup.ShellOptions
	Files []string
	URLs  []string // prefixes that may be fetched
	Stdin []byte   // content of the file stdin; nil means that there is none
}

// StdinName is the name of standard input as a granted file.
const StdinName = "stdin"

// Executor assembles the tool for an actor.
func (o *ReadOnlyOptions) Executor(conf *config.Config, actor string) (*tool.Executor, *Shell, error) {
	web := o.Fetcher(conf)
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	files := slices.Clone(o.Files)
	o.Strict, o.Inputs, o.Dir = true, o.Files, filepath.ToSlash(cwd)
	if o.Stdin != nil {
		files = append(files, StdinName)
		o.Texts = map[string][]byte{StdinName: o.Stdin}
	}
	o.Only = func(all shell.Set) shell.Set { return tool.Commands(all, web) }
	o.Limits = func() quota.ScriptLimits {
		l := quota.Strict()
		l.Output = 256 << 20 // counted, not kept
		if actor != "user" {
			l.Time = 30 * time.Second
		}
		return l
	}
	b, err := OpenShell(&o.ShellOptions, conf)
	if err != nil {
		return nil, nil, err
	}
	return &tool.Executor{
		Runner: b.Runner, Actor: actor, Files: files, Dir: o.Dir, Real: setup.Resolve, Web: web,
		Secrets: b.Secrets, Verbatim: actor == "user",
		Cache: tool.NewCache(), Fingerprint: tool.Fingerprint(files, web.Prefixes), State: o.fingerprint,
		Refused: b.recordRefused, Remembered: b.recordCached, Prepare: o.secretFinder(b, actor),
	}, b, nil
}

// secretFinder registers the secrets in the granted files, so that they are redacted also where a command cut
// them out of their context.
func (o *ReadOnlyOptions) secretFinder(b *Shell, actor string) func() {
	if actor == "user" {
		return nil
	}
	var mu sync.Mutex
	known := ""
	return func() {
		mu.Lock()
		defer mu.Unlock()
		now := o.fingerprint()
		if now == known {
			return
		}
		known = now
		b.Secrets.Add(redact.Find(string(o.Stdin))...)
		limit := b.Limiter.Limits().FileSize
		for _, name := range o.Files {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= limit {
				text, _ := os.ReadFile(name)
				b.Secrets.Add(redact.Find(string(text))...)
			}
		}
	}
}

// fingerprint changes when one of the granted files does.
func (o *ReadOnlyOptions) fingerprint() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "%d;", len(o.Stdin))
	for _, name := range o.Files {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%d %d;", info.Size(), info.ModTime().UnixNano())
		} else {
			b.WriteString("gone;")
		}
	}
	return b.String()
}

// Fetcher returns a fetcher for the allowed prefixes.
func (o *ReadOnlyOptions) Fetcher(conf *config.Config) *websearch.Fetcher {
	prefixes := slices.Concat(config.ExecutePrefixes.Of(conf).V, config.WebPrefixes.Of(conf).V, o.URLs)
	return &websearch.Fetcher{Prefixes: prefixes}
}

// recordRefused records what execute refused before the gate.
func (b *App) recordRefused(actor, command string, why *fault.Error) {
	_ = b.Log.Append(audit.Event{What: audit.Asked, Actor: actor, Script: command})
	_ = b.Log.Append(audit.Event{What: audit.Denied, Actor: actor, Script: command, Reason: why.Why, Rule: why.Rule,
		Kind: why.Kind.String()})
}

// recordCached records an answer from the cache.
func (b *App) recordCached(actor, command string) {
	_ = b.Log.Append(audit.Event{What: audit.Ended, Actor: actor, Script: command, Reason: "answered from memory"})
}

// RecordNetwork records that a server is about to be contacted. Without a record it is not contacted.
func (b *App) RecordNetwork(actor string) func(address string) error {
	return func(address string) error {
		return b.Log.Append(audit.Event{What: audit.Opened, Actor: actor, Mode: "network", Path: address})
	}
}

// RecordFetched records what an actor fetched from the web.
func (b *App) RecordFetched(actor string) func(ctx context.Context, url string, bytes int64) {
	return func(_ context.Context, url string, bytes int64) {
		_ = b.Log.Append(audit.Event{What: audit.Opened, Actor: actor, Mode: "network", Path: url, Bytes: bytes})
	}
}
