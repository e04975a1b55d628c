package main

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
	"hako/internal/websearch"
	"hako/quota"
	"hako/run/fault"
	"hako/shell"
)

// readonly is the box of execute: read-only commands over granted files.
type readonly struct {
	box
	file  []string
	urls  []string // that may be fetched
	given []byte   // the contents of the file stdin; nil means that there is none
}

// stdinName is what standard input is called as a granted file.
const stdinName = "stdin"

// executor puts the box together for an actor.
func (o *readonly) executor(conf *config.Config, actor string) (*tool.Executor, *opened, error) {
	web := o.fetcher(conf)
	cwd, err := os.Getwd()
	if err != nil {
		return nil, nil, err
	}
	files := slices.Clone(o.file)
	o.strict, o.inputs, o.dir = true, o.file, filepath.ToSlash(cwd)
	if o.given != nil {
		files = append(files, stdinName)
		o.texts = map[string][]byte{stdinName: o.given}
	}
	o.only = func(all shell.Set) shell.Set { return tool.Commands(all, web) }
	o.base = func() quota.ScriptLimits {
		l := quota.Strict()
		l.Output = 256 << 20 // what is not on the page is counted, not kept
		if actor != "user" {
			l.Time = 30 * time.Second // a model cannot ask for more
		}
		return l
	}
	b, err := o.openWith(conf)
	if err != nil {
		return nil, nil, err
	}
	return &tool.Executor{
		Runner: b.runner, Actor: actor, Files: files, Dir: o.dir, Real: resolve, Web: web,
		Secrets: b.secrets, Verbatim: actor == "user",
		Cache: tool.NewCache(), Fingerprint: tool.Fingerprint(files, web.Prefixes), State: o.state,
		Refused: b.refused, Remembered: b.remembered, Prepare: o.learner(b, actor),
	}, b, nil
}

// learner has the secrets in the granted files remembered, so that they are
// removed also where a command has cut them out of their surroundings.
func (o *readonly) learner(b *opened, actor string) func() {
	if actor == "user" {
		return nil
	}
	var mu sync.Mutex
	known := ""
	return func() {
		mu.Lock()
		defer mu.Unlock()
		now := o.state()
		if now == known {
			return
		}
		known = now
		b.secrets.Add(redact.Find(string(o.given))...)
		limit := b.gauge.Limits().FileSize
		for _, name := range o.file {
			if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() && info.Size() <= limit {
				text, _ := os.ReadFile(name)
				b.secrets.Add(redact.Find(string(text))...)
			}
		}
	}
}

// state changes when one of the granted files does.
func (o *readonly) state() string {
	b := strings.Builder{}
	fmt.Fprintf(&b, "%d;", len(o.given))
	for _, name := range o.file {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&b, "%d %d;", info.Size(), info.ModTime().UnixNano())
		} else {
			b.WriteString("gone;")
		}
	}
	return b.String()
}

// fetcher says which addresses may be asked.
func (o *readonly) fetcher(conf *config.Config) *websearch.Fetcher {
	prefixes := slices.Concat(config.ExecutePrefixes.Of(conf).V, config.WebPrefixes.Of(conf).V, o.urls)
	return &websearch.Fetcher{Prefixes: prefixes}
}

// refused puts on record what execute refused before it came to the gate.
func (b *opened) refused(actor, command string, why *fault.Error) {
	_ = b.log.Append(audit.Event{What: audit.Asked, Actor: actor, Script: command})
	_ = b.log.Append(audit.Event{What: audit.Denied, Actor: actor, Script: command, Reason: why.Why, Rule: why.Rule, Kind: why.Kind.String()})
}

// remembered puts on record what was answered from memory.
func (b *opened) remembered(actor, command string) {
	_ = b.log.Append(audit.Event{What: audit.Ended, Actor: actor, Script: command, Reason: "answered from memory"})
}

// touched puts on record that somebody on the network is about to be asked. What
// cannot be recorded is not done.
func (b *opened) touched(actor string) func(address string) error {
	return func(address string) error {
		return b.log.Append(audit.Event{What: audit.Opened, Actor: actor, Mode: "network", Path: address})
	}
}

// fetched puts on record what an actor got from the web.
func (b *opened) fetched(actor string) func(ctx context.Context, url string, bytes int64) {
	return func(_ context.Context, url string, bytes int64) {
		_ = b.log.Append(audit.Event{What: audit.Opened, Actor: actor, Mode: "network", Path: url, Bytes: bytes})
	}
}
