package mcpserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"hako/run/fault"
)

type createIn struct {
	Kind        string   `json:"kind,omitempty" jsonschema:"virtual: a shell without programs, quick and closed; host: programs of this machine; container: a container of its own"`
	Environment string   `json:"environment,omitempty" jsonschema:"container: the language environment, such as python or node"`
	Repository  string   `json:"repository,omitempty" jsonschema:"container: a repository to clone"`
	Branch      string   `json:"branch,omitempty" jsonschema:"container: the branch of the repository"`
	Network     string   `json:"network,omitempty" jsonschema:"what may be reached: none for every kind; container: none, allow-list or open, as far as the settings of the server go"`
	Root        string   `json:"root,omitempty" jsonschema:"host: the directory to work in"`
	Files       []fileIn `json:"files,omitempty" jsonschema:"files to write before anything runs"`
}

type fileIn struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

type sandboxOut struct {
	ID   string `json:"sandbox_id"`
	Kind Kind   `json:"kind"`
	Info
	Created string `json:"created"`
	Expires int64  `json:"expires_after_seconds" jsonschema:"of not being used"`
	Busy    bool   `json:"busy" jsonschema:"a command is running in it"`
}

type sandboxesOut struct {
	Sandboxes []sandboxOut `json:"sandboxes"`
}

type sandboxIn struct {
	ID string `json:"sandbox_id"`
}

type destroyOut struct {
	ID        string `json:"sandbox_id"`
	Destroyed bool   `json:"destroyed" jsonschema:"false if it was gone before"`
}

// sandboxTools are the tools for sandboxes.
func (d *Server) sandboxTools() []*toolSpec {
	kinds := func(s *jsonschema.Schema) {
		for _, k := range d.opts.Kinds {
			s.Enum = append(s.Enum, k)
		}
	}
	return []*toolSpec{
		newTool[createIn, sandboxOut]("sandbox_create", "Make a sandbox",
			"Makes a sandbox and returns its sandbox_id. It is yours alone, keeps its files and its directory from one command to the next, and is closed when it is not used.",
			toolHints{open: d.opts.Egress}, d.create).restrict("kind", kinds),
		newTool[struct{}, sandboxesOut]("sandbox_list", "List sandboxes", "Lists your sandboxes, the oldest first.",
			toolHints{reads: true}, d.sandboxes),
		newTool[sandboxIn, destroyOut]("sandbox_destroy", "Destroy a sandbox",
			"Ends whatever runs in a sandbox and removes it with its files. Destroying it again does nothing.",
			toolHints{destructive: true, idempotent: true}, d.destroyed),
	}
}

func (d *Server) create(ctx context.Context, v *toolCall, in createIn) *sdk.CallToolResult {
	w := SandboxOptions{Kind: Kind(in.Kind), Environment: in.Environment, Repository: in.Repository, Branch: in.Branch,
		Network: in.Network, Root: in.Root}
	b, err := d.makeSandbox(ctx, v, w)
	if err != nil {
		return failure(err)
	}
	for _, f := range in.Files {
		if res := d.write(ctx, v, writeIn{ID: b.id, Path: f.Path, Text: f.Text}); res.IsError || res.InputRequests != nil {
			_, _ = d.remove(ctx, b, errDestroyed)
			if res.InputRequests != nil { // the client does not know the sandbox yet and could not answer
				return failure(&fault.Error{Kind: fault.Denied, Op: "write file", Subject: f.Path, Why: "a person must approve it",
					Hint: "make the sandbox without files, and write them with write_file"})
			}
			return res
		}
	}
	return result(d.describe(b))
}

func kindNames(kinds []Kind) string {
	var names []string
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return strings.Join(names, ", ")
}

// makeSandbox validates the options and makes a sandbox.
func (d *Server) makeSandbox(ctx context.Context, v *toolCall, w SandboxOptions) (*managedSandbox, error) {
	if w.Kind == "" {
		w.Kind = Virtual
	}
	if !slices.Contains(d.opts.Kinds, w.Kind) {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "make sandbox", Subject: short(string(w.Kind)),
			Why: "there is no such kind here", Hint: "kinds are " + kindNames(d.opts.Kinds)}
	}
	if err := wrongOption(w); err != "" {
		return nil, &fault.Error{Kind: fault.Invalid, Op: "make sandbox", Subject: string(w.Kind),
			Why: err + " is not for this kind", Hint: "leave it out, or choose another kind"}
	}
	w.Ask = d.ask
	w.Tell = func(text string) { v.makeSteps++; v.report(ctx, v.makeSteps, text) }
	return d.build(ctx, v.caller, v.actor, w)
}

// wrongOption returns the name of an option that has no effect for the kind, or "".
func wrongOption(w SandboxOptions) string {
	for _, f := range []struct {
		name, value string
		kind        Kind
	}{
		{"environment", w.Environment, Container}, {"repository", w.Repository, Container}, {"branch", w.Branch, Container},
		{"network", w.Network, Container}, {"root", w.Root, Host},
	} {
		less := f.name == "network" && f.value == "none" // valid for every kind
		if f.value != "" && f.kind != w.Kind && !less {
			return f.name
		}
	}
	return ""
}

func (d *Server) describe(b *managedSandbox) sandboxOut {
	d.mu.Lock()
	busy := b.inUse > 0
	d.mu.Unlock()
	out := sandboxOut{ID: b.id, Kind: b.kind, Created: b.made.UTC().Format(time.RFC3339),
		Expires: int64(d.limits.Idle.Seconds()), Busy: busy}
	if t, ok := b.Sandbox.(describer); ok {
		out.Info = t.Info()
	}
	return out
}

func (d *Server) sandboxes(_ context.Context, v *toolCall, _ struct{}) *sdk.CallToolResult {
	out := sandboxesOut{Sandboxes: []sandboxOut{}}
	for _, b := range d.list(v.caller) {
		out.Sandboxes = append(out.Sandboxes, d.describe(b))
	}
	return result(out)
}

func (d *Server) destroyed(ctx context.Context, v *toolCall, in sandboxIn) *sdk.CallToolResult {
	there, err := d.destroy(ctx, v.caller, in.ID)
	if err != nil {
		return failure(err)
	}
	return result(destroyOut{in.ID, there})
}

// enterAny finds the sandbox of a call that may omit the ID: the only one, or a new one.
func (d *Server) enterAny(ctx context.Context, v *toolCall, id string) (*managedSandbox, error) {
	if id != "" {
		return d.enter(v.caller, id)
	}
	lock, _ := d.defaultLocks.LoadOrStore(v.caller, new(sync.Mutex))
	lock.(*sync.Mutex).Lock() // concurrent calls must not make two
	defer lock.(*sync.Mutex).Unlock()
	boxes := d.list(v.caller)
	switch len(boxes) {
	case 0:
		b, err := d.makeSandbox(ctx, v, d.opts.Default)
		if err != nil {
			return nil, err
		}
		id = b.id
	case 1:
		id = boxes[0].id
	default:
		return nil, &fault.Error{Kind: fault.Invalid, Op: "find sandbox",
			Why:  fmt.Sprintf("you have %d sandboxes, and did not say which", len(boxes)),
			Hint: "give sandbox_id; sandbox_list shows them"}
	}
	return d.enter(v.caller, id)
}
