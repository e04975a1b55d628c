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

// A finding is what the doctor says of one part.
type finding struct {
	Part  string `json:"part"`
	State state  `json:"state"`
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// A state is how a part fares.
type state string

const (
	fine   state = "ok"
	unused state = "off"  // not set up, which is fine
	shaky  state = "warn" // it works, but somebody should look
	broken state = "fail"
)

// A checkup looks at one part.
type checkup struct {
	part string
	look func(ctx context.Context, at app.ModelSource) finding
	late string // what to do if it takes too long, which is then no failure; empty means that it is one
}

// checkups is what the doctor looks at, in this order.
var checkups = []checkup{
	{part: "settings", look: checkSettings},
	{part: "files", look: checkFiles},
	{part: "model", look: checkModel},
	{part: "openai", look: checkOpenAI},
	{part: "ollama", look: checkOllama},
	{part: "search", look: checkSearch},
	{part: "policy", look: checkPolicy},
	{part: "sandbox", look: checkSandbox},
	{part: "docker", look: checkDocker},
	{part: "forges", look: checkForges},
	{part: "queue", look: checkQueue},
	{part: "mcp", look: checkServers},
	{part: "secretary", look: checkSecretary},
	{part: "speech", look: checkSpeech},
	{part: "serve", look: checkServe},
	{part: "record", look: checkRecord, late: "hako audit verify checks a long record"},
}

// How long one part may take, and all of them. A part that does not even notice
// that its time is over is not waited for.
const (
	checkTime  = 1500 * time.Millisecond
	doctorTime = 1800 * time.Millisecond
)

func newDoctor(s streams) *cobra.Command {
	var o common
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [PART]...",
		Short: "Check settings, models, sandboxes and record; say what to do",
		Long: `doctor looks at everything hako relies on, or at the parts that are named, all at
the same time and for less than two seconds. A part is ok, off (not set up, which is
fine), warn (it works, but look) or fail. It asks services only whether they are
there, which costs nothing, and shows no keys.

The exit status is 1 if a part fails, else 0. The parts are
` + partList() + ".",
		Example: "  hako doctor\n  hako doctor docker sandbox\n  hako doctor --json | jq -r '.[] | select(.state==\"fail\") | .hint'",
		Args:    knownParts,
		RunE: func(cmd *cobra.Command, parts []string) error {
			w := newShow(s, asJSON, false)
			w.spinner.Start("looking")
			found := examine(cmd.Context(), &o, parts)
			w.spinner.Stop()
			return printFindings(s, found, asJSON)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "read the settings from `FILE`")
	cmd.Flags().BoolVar(&o.noConfig, "no-config", false, "read no settings file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func allParts() (names []string) {
	for _, c := range checkups {
		names = append(names, c.part)
	}
	return names
}

// partList is for people, in lines that fit.
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

// examine looks at the parts that were named; none means all. Settings or a
// record that cannot be read are the only finding.
func examine(ctx context.Context, o *common, parts []string) []finding {
	conf, err := o.load()
	if err != nil {
		return []finding{bad("settings", err)}
	}
	b, err := app.Open(conf)
	if err != nil {
		return []finding{bad("record", err)}
	}
	defer b.Close()
	var wanted []checkup
	for _, c := range checkups {
		if len(parts) == 0 || slices.Contains(parts, c.part) {
			wanted = append(wanted, c)
		}
	}
	found := lookAt(ctx, wanted, app.ModelSource{Conf: conf, Record: b.RecordNetwork("user")})
	for i, f := range found { // what servers say back may hold what they were told
		found[i].What = b.Secrets.Text(f.What)
	}
	return found
}

// lookAt makes all checkups at the same time.
func lookAt(ctx context.Context, wanted []checkup, at app.ModelSource) []finding {
	over, stop := context.WithTimeout(ctx, doctorTime)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	answers := make([]chan finding, len(wanted))
	for i, c := range wanted {
		answers[i] = make(chan finding, 1) // nobody may be there any more
		go func() { answers[i] <- c.look(ctx, at) }()
	}
	found := make([]finding, len(wanted))
	for i, c := range wanted {
		found[i] = c.await(over, answers[i])
		found[i].Part = c.part
	}
	return found
}

// await takes the answer, or gives up when all time is over.
func (c checkup) await(over context.Context, answer <-chan finding) finding {
	select {
	case f := <-answer:
		return f
	case <-over.Done():
	}
	select {
	case f := <-answer: // it was there as well
		return f
	default:
	}
	late := fmt.Sprintf("no answer within %v", checkTime)
	if c.late != "" {
		return warned(late, c.late)
	}
	return finding{State: broken, What: late,
		Hint: "it waits for something that hangs: see what else fails here, and whether other programs use the same files"}
}

func good(format string, args ...any) finding {
	return finding{State: fine, What: fmt.Sprintf(format, args...)}
}

func off(what, hint string) finding { return finding{State: unused, What: what, Hint: hint} }

func bad(part string, err error) finding {
	return finding{Part: part, State: broken, What: err.Error(), Hint: fault.Hint(err)}
}

// warned is for what works, but not as well as it could.
func warned(what, hint string) finding { return finding{State: shaky, What: what, Hint: hint} }

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

func printFindings(s streams, found []finding, asJSON bool) error {
	worst := error(nil)
	for _, f := range found {
		if f.State == broken {
			worst = exitStatus(1)
		}
	}
	if asJSON {
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

var stateColors = map[state]string{fine: "32", unused: "2", shaky: "33", broken: "31"}

// shown is the word, all of the same width, coloured where that is welcome.
func (t state) shown(s streams) string {
	word := fmt.Sprintf("%-4s", string(t))
	if !isTerminal(s.out) || !colorful() {
		return word
	}
	return "\033[" + stateColors[t] + "m" + word + "\033[0m"
}

// checkFiles looks whether what hako keeps is its owner's alone.
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
		return finding{State: broken, What: fmt.Sprintf("others can change %s (mode %04o)", dir, info.Mode().Perm()),
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

// checkSecretary looks into her memory.
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

// usualAddress is where hako serve listens unless it is told otherwise.
const usualAddress = "127.0.0.1:8480"

// checkServe looks who may come in, and whether the door can be opened: for a
// moment it is, and nobody is let in.
func checkServe(ctx context.Context, at app.ModelSource) finding {
	tokens, err := app.TokenStore(at.Conf).List()
	if err != nil {
		return bad("", err)
	}
	_, stop, err := (&api.Server{Addr: usualAddress}).Start(ctx)
	if err != nil {
		return finding{State: fine, What: fmt.Sprintf("tokens: %d; %s is taken, perhaps by hako serve", len(tokens),
			usualAddress), Hint: "if by another program: hako serve --addr 127.0.0.1:0 takes a free port"}
	}
	if err := stop(ctx); err != nil {
		return bad("", err)
	}
	return good("tokens besides the one that is printed: %d; %s is free", len(tokens), usualAddress)
}

func checkSandbox(ctx context.Context, at app.ModelSource) finding {
	// A directory of its own: that the doctor stands in / says nothing.
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
		return finding{State: broken, What: "programs cannot be confined as required: " + st.Level.String() + " of " +
			st.Required.String(), Hint: "hako host status says what is missing"}
	case len(st.Missing) > 0:
		return warned(st.Level.String()+"; missing: "+strings.Join(st.Missing, "; "), "hako host status says more")
	}
	return good("%s: programs of this machine run confined", st.Level)
}

// checkDocker looks for the engine and for images. That there is none is fine
// unless models are to have containers.
func checkDocker(ctx context.Context, at app.ModelSource) finding {
	b, err := app.InspectContainers(at.Conf)
	if err != nil {
		return bad("", err)
	}
	defer b.Close()
	list, err := inventory(ctx, b)
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
		return finding{State: broken, What: list.Engine, Hint: "start Docker, join its group, or set DOCKER_HOST"}
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
