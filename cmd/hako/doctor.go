package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/internal/app"
	"hako/internal/app/secretary/speech"
	"hako/internal/app/secretary/store"
	"hako/internal/config"
	"hako/internal/ownerfile"
	"hako/internal/setup"
	"hako/internal/web/api"
	"hako/run/fault"
)

// A finding is the result of one check.
type finding struct {
	Part  string `json:"part"`
	State state  `json:"state"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// A state is the state of a part.
type state string

const (
	stateOK   state = "ok"
	stateOff  state = "off"  // not set up, which is fine
	stateWarn state = "warn" // works, but needs attention
	stateFail state = "fail"
)

// A check checks one part.
type check struct {
	part     string
	run      func(ctx context.Context, at app.ModelSource) finding
	lateHint string // hint if it takes too long, which is then a warning; empty means that it fails
}

// checks are all checks, in the order of the output.
var checks = []check{
	{part: "settings", run: checkSettings},
	{part: "files", run: checkFiles},
	{part: "model", run: checkModel},
	{part: "openai", run: checkOpenAI},
	{part: "ollama", run: checkOllama},
	{part: "search", run: checkSearch},
	{part: "policy", run: checkPolicy},
	{part: "sandbox", run: checkSandbox},
	{part: "docker", run: checkDocker},
	{part: "forges", run: checkForges},
	{part: "queue", run: checkQueue},
	{part: "mcp", run: checkServers},
	{part: "secretary", run: checkSecretary},
	{part: "speech", run: checkSpeech},
	{part: "serve", run: checkServe},
	{part: "record", run: checkRecord, lateHint: "hako audit verify checks a long record"},
}

// Time limits of one check and of all. A check that ignores its context is abandoned.
const (
	checkTime  = 1500 * time.Millisecond
	doctorTime = 1800 * time.Millisecond
)

func newDoctor(s streams) *cobra.Command {
	var o common
	cmd := command("doctor", knownParts, func(cmd *cobra.Command, parts []string) error {
		w := newTranscript(s, o.json, false)
		w.spinner.Start("looking")
		found := runChecks(cmd.Context(), &o, parts)
		w.spinner.Stop()
		return o.printFindings(s, found)
	})
	cmd.Long += "\n" + partList() + "."
	o.registerSettings(cmd.Flags())
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

func allParts() (names []string) {
	for _, c := range checks {
		names = append(names, c.part)
	}
	return names
}

// partList lists the parts in two lines.
func partList() string {
	names := allParts()
	return strings.Join(names[:8], ", ") + ",\n" + strings.Join(names[8:], ", ")
}

func knownParts(_ *cobra.Command, parts []string) error {
	names := allParts()
	for _, p := range parts {
		if slices.Contains(names, p) {
			continue
		}
		e := &fault.Error{Kind: fault.Invalid, Op: "doctor", Subject: p, Why: "there is no such part",
			Hint: "the parts are " + strings.Join(names, ", ")}
		if near, ok := fault.Nearest(p, names); ok {
			e.Hint = "did you mean " + near + "? " + e.Hint
		}
		return e
	}
	return nil
}

// runChecks checks the named parts; none means all. If the settings or the record cannot be read, that is the only
// finding.
func runChecks(ctx context.Context, o *common, parts []string) []finding {
	conf, err := o.load()
	if err != nil {
		return []finding{bad("settings", err)}
	}
	b, err := app.Open(conf)
	if err != nil {
		return []finding{bad("record", err)}
	}
	defer b.Close()
	var wanted []check
	for _, c := range checks {
		if len(parts) == 0 || slices.Contains(parts, c.part) {
			wanted = append(wanted, c)
		}
	}
	found := runAll(ctx, wanted, app.ModelSource{Conf: conf, Record: b.RecordNetwork("user")})
	for i, f := range found { // a server's answer may repeat a secret
		found[i].What = b.Secrets.Text(f.What)
	}
	return found
}

// runAll runs all checks at the same time.
func runAll(ctx context.Context, wanted []check, at app.ModelSource) []finding {
	over, stop := context.WithTimeout(ctx, doctorTime)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	answers := make([]chan finding, len(wanted))
	for i, c := range wanted {
		answers[i] = make(chan finding, 1) // the receiver may be gone
		go func() { answers[i] <- c.run(ctx, at) }()
	}
	found := make([]finding, len(wanted))
	for i, c := range wanted {
		found[i] = c.await(over, answers[i])
		found[i].Part = c.part
	}
	return found
}

// await waits for the result or for the end of all time.
func (c check) await(over context.Context, answer <-chan finding) finding {
	select {
	case f := <-answer:
		return f
	case <-over.Done():
	}
	select {
	case f := <-answer: // both were ready
		return f
	default:
	}
	late := fmt.Sprintf("no answer within %v", checkTime)
	if c.lateHint != "" {
		return warned(late, c.lateHint)
	}
	return finding{State: stateFail, What: late,
		Hint: "it waits for something that hangs: see what else fails here, and whether other programs use the same files"}
}

func good(format string, args ...any) finding {
	return finding{State: stateOK, What: fmt.Sprintf(format, args...)}
}

func off(what, hint string) finding { return finding{State: stateOff, What: what, Hint: hint} }

func bad(part string, err error) finding {
	return finding{Part: part, State: stateFail, What: err.Error(), Hint: fault.Hint(err)}
}

func warned(what, hint string) finding { return finding{State: stateWarn, What: what, Hint: hint} }

func checkSettings(_ context.Context, at app.ModelSource) finding {
	conf := at.Conf
	if len(conf.Sources()) == 0 {
		return off("no settings file; the defaults apply", "hako config init writes one with every setting explained")
	}
	return good("%s", strings.Join(conf.Sources(), ", "))
}

func checkModel(ctx context.Context, at app.ModelSource) finding {
	c, err := app.ChooseModel(ctx, at, "")
	if err != nil {
		return bad("", err)
	}
	if c.Provider == "builtin" {
		return off("the built-in rules answer simple questions about files, offline",
			"for a real model: export OPENAI_API_KEY=…, or start Ollama and ollama pull qwen3")
	}
	return good("%s is asked unless --model says otherwise", c)
}

func checkOpenAI(ctx context.Context, at app.ModelSource) finding {
	conf := at.Conf
	o := app.OpenaiOptions(conf)
	if o.Key == "" && !app.CustomOpenAI(conf) {
		return off("no key", "export OPENAI_API_KEY=… to use it")
	}
	names, err := at.ServedModels(ctx)
	if err != nil {
		return bad("", err)
	}
	return good("%d models at %s", len(names), o.BaseURL)
}

func checkOllama(ctx context.Context, at app.ModelSource) finding {
	conf := at.Conf
	names, err := at.OllamaModels(ctx)
	switch {
	case err != nil && strings.HasPrefix(config.ModelName.Of(conf).V, "ollama:"):
		return bad("", err)
	case err != nil:
		return off("not running", "ollama serve starts it; ollama pull qwen3 gets a model")
	case len(names) == 0:
		return off("running, without models", "ollama pull qwen3")
	}
	return good("%d models, first %s", len(names), names[0].Name)
}

func checkSearch(_ context.Context, at app.ModelSource) finding {
	conf := at.Conf
	_, name, err := app.SearchEngine(conf)
	switch {
	case err != nil && config.SearchProvider.Of(conf).From == "default":
		return off("no search engine is set up", fault.Hint(err))
	case err != nil:
		return bad("", err)
	case name == "google_cse":
		return warned("google_cse",
			"Google closes this service on 2027-01-01; brave (BRAVE_API_KEY) and searxng (SEARXNG_URL) go on")
	}
	return good("%s", name)
}

func checkPolicy(_ context.Context, at app.ModelSource) finding {
	conf := at.Conf
	p, err := setup.LoadPolicy(conf, "host")
	if err == nil {
		err = p.Test()
	}
	if err != nil {
		return bad("", err)
	}
	if file := config.PolicyPrograms.Of(conf).V; file != "" {
		return good("the rules keep to their examples; programs are described in %s", file)
	}
	return good("the rules keep to their examples")
}

func checkRecord(_ context.Context, at app.ModelSource) finding {
	conf := at.Conf
	path := config.AuditPath.Of(conf).V
	rep, err := audit.VerifyFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) || fault.KindOf(err) == fault.NotFound:
		return off("nothing is recorded yet", "it will be in "+path)
	case err != nil:
		return bad("", err)
	case rep.Err() != nil:
		return bad("", rep.Err())
	}
	return good("%s: %v", path, rep)
}

func (o *common) printFindings(s streams, found []finding) error {
	worst := error(nil)
	for _, f := range found {
		if f.State == stateFail {
			worst = exitStatus(1)
		}
	}
	if o.json {
		return errors.Join(encode(s.out, found), worst)
	}
	for _, f := range found {
		fmt.Fprintf(s.out, "%s %-9s %s\n", f.State.shown(s), f.Part, visible(f.What))
		if f.Hint != "" {
			fmt.Fprintf(s.out, "%14s %s\n", "→", visible(f.Hint))
		}
	}
	return worst
}

var stateColors = map[state]string{stateOK: "32", stateOff: "2", stateWarn: "33", stateFail: "31"}

// shown is the state padded, and coloured on a terminal.
func (t state) shown(s streams) string {
	word := fmt.Sprintf("%-4s", string(t))
	if !isTerminal(s.out) || !useColor() {
		return word
	}
	return "\033[" + stateColors[t] + "m" + word + "\033[0m"
}

// checkFiles checks that hako's files are accessible by their owner only.
func checkFiles(_ context.Context, at app.ModelSource) finding {
	dir := filepath.Dir(at.Conf.StateFile("x"))
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return off("nothing is kept yet", "it will be in "+dir)
	case err != nil:
		return bad("", &fault.Error{Op: "look at", Subject: dir, Err: setup.ReasonOf(err),
			Hint: "make it yours, or set XDG_STATE_HOME to another directory"})
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return finding{State: stateFail, What: fmt.Sprintf("others can change %s (mode %04o)", dir, info.Mode().Perm()),
			Hint: "chmod 700 " + dir}
	}
	for _, name := range keptFiles(at.Conf) {
		if info, err := os.Lstat(name); err == nil {
			if err := ownerfile.Check(name, info); err != nil {
				return bad("", err)
			}
		}
	}
	return good("%s is yours alone", dir)
}

func keptFiles(conf *config.Config) []string {
	return []string{config.AuditPath.Of(conf).V, config.SecretaryDatabase.Of(conf).V, conf.StateFile("usage.json"),
		app.TokenStore(conf).Path}
}

// checkSecretary opens the secretary's database.
func checkSecretary(_ context.Context, at app.ModelSource) finding {
	path := config.SecretaryDatabase.Of(at.Conf).V
	if !exists(path) {
		return off("she remembers nothing yet", "hako secretary talks to her")
	}
	memory, err := store.Open(path)
	if err != nil {
		return bad("", err)
	}
	defer memory.Close()
	talks, err := memory.Sessions(0)
	if err != nil {
		return bad("", err)
	}
	todos, err := memory.List(store.Filter{Status: store.StatusOpen})
	if err != nil {
		return bad("", err)
	}
	return good("conversations: %d, open to-dos: %d", len(talks), len(todos))
}

// defaultAddress is where hako serve listens by default.
const defaultAddress = "127.0.0.1:8480"

// checkServe counts the tokens, and opens and closes the port without letting anybody in.
func checkServe(ctx context.Context, at app.ModelSource) finding {
	tokens, err := app.TokenStore(at.Conf).List()
	if err != nil {
		return bad("", err)
	}
	_, stop, err := (&api.Server{Addr: defaultAddress}).Start(ctx)
	if err != nil {
		return finding{State: stateOK, What: fmt.Sprintf("tokens: %d; %s is taken, perhaps by hako serve", len(tokens),
			defaultAddress), Hint: "if by another program: hako serve --addr 127.0.0.1:0 takes a free port"}
	}
	if err := stop(ctx); err != nil {
		return bad("", err)
	}
	return good("tokens besides the one that is printed: %d; %s is free", len(tokens), defaultAddress)
}

func checkSandbox(ctx context.Context, at app.ModelSource) finding {
	// In a directory of its own: the current one may be /, which cannot be confined.
	dir, err := os.MkdirTemp("", "hako-doctor-")
	if err != nil {
		return bad("", err)
	}
	defer os.RemoveAll(dir)
	st, err := app.ProbeHost(ctx, at.Conf, dir)
	switch {
	case err != nil:
		return bad("", err)
	case !st.Enough:
		return finding{State: stateFail, What: "programs cannot be confined as required: " + st.Level.String() + " of " +
			st.Required.String(), Hint: "hako host status says what is missing"}
	case len(st.Missing) > 0:
		return warned(st.Level.String()+"; missing: "+strings.Join(st.Missing, "; "), "hako host status says more")
	}
	return good("%s: programs of this machine run confined", st.Level)
}

// checkDocker checks the engine and the images. A missing engine fails only if models are to have containers.
func checkDocker(ctx context.Context, at app.ModelSource) finding {
	b, err := app.InspectContainers(at.Conf)
	if err != nil {
		return bad("", err)
	}
	defer b.Close()
	list, err := listEnvironments(ctx, b)
	if err != nil {
		return bad("", err)
	}
	var missing []string
	for _, e := range list.Environments {
		if !e.Built {
			missing = append(missing, e.Name)
		}
	}
	wanted := config.ContainerEnabled.Of(at.Conf).V || app.AnyForge(at.Conf)
	switch {
	case list.Engine != "" && wanted:
		return finding{State: stateFail, What: list.Engine, Hint: "start Docker, join its group, or set DOCKER_HOST"}
	case list.Engine != "":
		return off("no containers: "+list.Engine, "start Docker, join its group, or set DOCKER_HOST, if you want hako env")
	case len(missing) > 0:
		return warned("Docker answers; not built: "+strings.Join(missing, ", "), "hako env build "+strings.Join(missing, " "))
	}
	return good("Docker answers, all %d environments are built", len(list.Environments))
}

func checkSpeech(ctx context.Context, at app.ModelSource) finding {
	if !config.SpeechEnabled.Of(at.Conf).V {
		return off("switched off by speech.enabled", "")
	}
	engine, err := speech.New(speech.Options{URL: config.SpeechURL.Of(at.Conf).V,
		Remote: config.SpeechURL.Of(at.Conf).From != "default"})
	if err != nil {
		return bad("", err)
	}
	info, err := engine.Info(ctx)
	if err != nil {
		return off("no COEIROINK at "+config.SpeechURL.Of(at.Conf).V+"; the secretary is silent",
			"start COEIROINK to hear her; everything else works without it")
	}
	return good("COEIROINK %s", info.Version)
}
