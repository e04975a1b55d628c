package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/internal/audit"
	"hako/internal/config"
	"hako/internal/fault"
	"hako/internal/speech"
)

// A finding is what the doctor says of one part.
type finding struct {
	Part  string `json:"part"`
	State string `json:"state"` // ok, off (not set up, which is fine), bad
	What  string `json:"what"`
	Hint  string `json:"hint,omitempty"`
}

// A checkup looks at one part.
type checkup struct {
	part string
	look func(ctx context.Context, at place) finding
}

// checkups is what the doctor looks at, in this order.
var checkups = []checkup{
	{"settings", checkSettings},
	{"model", checkModel},
	{"openai", checkOpenAI},
	{"ollama", checkOllama},
	{"search", checkSearch},
	{"policy", checkPolicy},
	{"sandbox", checkSandbox},
	{"docker", checkDocker},
	{"speech", checkSpeech},
	{"record", checkRecord},
}

func newDoctor(s streams) *cobra.Command {
	var o common
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check settings, models, sandbox, containers, speech and the record, and say what to do",
		Long: `doctor looks at everything hako relies on. What is not set up but not needed
is "off"; what is broken is "bad", and makes the exit status 1. It asks OpenAI
for its list of models if there is a key, and costs nothing.`,
		Example: "  hako doctor\n  hako doctor --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := newShow(s, asJSON, false)
			w.spinner.Start("looking")
			found := examine(cmd.Context(), &o)
			w.spinner.Stop()
			return printFindings(s, found, asJSON)
		},
	}
	cmd.Flags().StringVar(&o.config, "config", "", "read the settings from `FILE`")
	cmd.Flags().BoolVar(&o.noConfig, "no-config", false, "read no settings file")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// examine looks at all parts. Settings that cannot be read are the only finding.
func examine(ctx context.Context, o *common) (found []finding) {
	conf, err := o.load()
	if err != nil {
		return []finding{bad("settings", err)}
	}
	b, err := recorder(conf)
	if err != nil {
		return []finding{bad("record", err)}
	}
	defer b.close()
	for _, c := range checkups {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		f := c.look(ctx, place{conf, b.touched("user")})
		cancel()
		f.Part = c.part
		found = append(found, f)
	}
	return found
}

func good(format string, args ...any) finding {
	return finding{State: "ok", What: fmt.Sprintf(format, args...)}
}

func off(what, hint string) finding { return finding{State: "off", What: what, Hint: hint} }

func bad(part string, err error) finding {
	return finding{Part: part, State: "bad", What: err.Error(), Hint: fault.Hint(err)}
}

func checkSettings(_ context.Context, at place) finding {
	conf := at.conf
	if len(conf.Sources()) == 0 {
		return off("no settings file; the defaults apply", "hako config init writes one with every setting explained")
	}
	return good("%s", strings.Join(conf.Sources(), ", "))
}

func checkModel(ctx context.Context, at place) finding {
	c, err := chooseModel(ctx, at, "")
	if err != nil {
		return bad("", err)
	}
	if c.provider == "builtin" {
		return off("the built-in rules answer simple questions about files, offline", "for a real model: export OPENAI_API_KEY=…, or start Ollama and ollama pull qwen3")
	}
	return good("%s is asked unless --model says otherwise", c)
}

func checkOpenAI(ctx context.Context, at place) finding {
	conf := at.conf
	o := openaiOptions(conf)
	if o.Key == "" && !elsewhere(conf) {
		return off("no key", "export OPENAI_API_KEY=… to use it")
	}
	names, err := at.served(ctx)
	if err != nil {
		return bad("", err)
	}
	return good("%d models at %s", len(names), o.BaseURL)
}

func checkOllama(ctx context.Context, at place) finding {
	conf := at.conf
	names, err := at.ollamas(ctx)
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

func checkSearch(_ context.Context, at place) finding {
	conf := at.conf
	_, name, err := searchEngine(conf)
	switch {
	case err != nil && config.SearchProvider.Of(conf).From == "default":
		return off("no search engine is set up", fault.Hint(err))
	case err != nil:
		return bad("", err)
	case name == "google_cse":
		return finding{State: "ok", What: "google_cse", Hint: "Google closes this service on 2027-01-01; brave (BRAVE_API_KEY) and searxng (SEARXNG_URL) go on"}
	}
	return good("%s", name)
}

func checkPolicy(_ context.Context, at place) finding {
	conf := at.conf
	p, err := loadPolicy(conf, "host")
	if err == nil {
		err = p.Test()
	}
	if err != nil {
		return bad("", err)
	}
	return good("the rules keep to their examples")
}

func checkRecord(_ context.Context, at place) finding {
	conf := at.conf
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
		if f.State == "bad" {
			worst = exitStatus(1)
		}
	}
	if asJSON {
		return errors.Join(encode(s.out, found), worst)
	}
	for _, f := range found {
		fmt.Fprintf(s.out, "%-4s %-9s %s\n", f.State, f.Part, visible(f.What))
		if f.Hint != "" {
			fmt.Fprintf(s.out, "%14s %s\n", "→", f.Hint)
		}
	}
	return worst
}

func checkSandbox(ctx context.Context, at place) finding {
	// A directory of its own: that the doctor stands in / says nothing.
	dir, err := os.MkdirTemp("", "hako-doctor-")
	if err != nil {
		return bad("", err)
	}
	defer os.RemoveAll(dir)
	st, err := hostState(ctx, at.conf, dir)
	switch {
	case err != nil:
		return bad("", err)
	case !st.Enough:
		return finding{State: "bad", What: "programs cannot be confined as required: " + st.Level.String() + " of " + st.Required.String(), Hint: "hako host status says what is missing"}
	case len(st.Missing) > 0:
		return finding{State: "ok", What: st.Level.String() + "; missing: " + strings.Join(st.Missing, "; "), Hint: "hako host status says more"}
	}
	return good("%s: programs of this machine run confined", st.Level)
}

// checkDocker looks for the engine and for images. That there is none is fine
// unless models are to have containers.
func checkDocker(ctx context.Context, at place) finding {
	b, err := openBerthFor(at.conf)
	if err != nil {
		return bad("", err)
	}
	defer b.close()
	list, err := b.inventory(ctx)
	if err != nil {
		return bad("", err)
	}
	var missing []string
	for _, e := range list.Environments {
		if !e.Built {
			missing = append(missing, e.Name)
		}
	}
	wanted := config.ContainerEnabled.Of(at.conf).V
	switch {
	case list.Engine != "" && wanted:
		return finding{State: "bad", What: list.Engine, Hint: "start Docker, or set DOCKER_HOST"}
	case list.Engine != "":
		return off("no containers: "+list.Engine, "start Docker, or set DOCKER_HOST, if you want hako env")
	case len(missing) > 0:
		return finding{State: "ok", What: "Docker answers; not built: " + strings.Join(missing, ", "), Hint: "hako env build " + missing[0]}
	}
	return good("Docker answers, all %d environments are built", len(list.Environments))
}

func checkSpeech(ctx context.Context, at place) finding {
	if !config.SpeechEnabled.Of(at.conf).V {
		return off("switched off by speech.enabled", "")
	}
	engine, err := speech.New(speech.Options{URL: config.SpeechURL.Of(at.conf).V, Remote: config.SpeechURL.Of(at.conf).From != "default"})
	if err != nil {
		return bad("", err)
	}
	info, err := engine.Info(ctx)
	if err != nil {
		return off("no COEIROINK at "+config.SpeechURL.Of(at.conf).V+"; the secretary is silent", "start COEIROINK to hear her; everything else works without it")
	}
	return good("COEIROINK %s", info.Version)
}
