package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/config"
	"hako/internal/setup"
	"hako/policy"
	"hako/run/fault"
)

// policyOptions are the flags of hako policy.
type policyOptions struct {
	common
	profile string
	root    string
	batch   bool
}

func newPolicy(s streams) *cobra.Command {
	cmd := command("policy", nil, needSubcommand)
	cmd.AddCommand(newPolicyCheck(s), newPolicyTest(s), newPolicyShow(s))
	return cmd
}

// needSubcommand reports a missing or unknown subcommand.
func needSubcommand(cmd *cobra.Command, args []string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	e := &fault.Error{Kind: fault.Invalid, Op: pathOf(cmd), Why: "it needs one of " + strings.Join(names, ", "),
		Hint: "see " + cmd.CommandPath() + " --help"}
	if len(args) > 0 {
		e.Why = fmt.Sprintf("there is no %q, only %s", args[0], strings.Join(names, ", "))
		if near, ok := fault.Nearest(args[0], names); ok {
			e.Hint = "did you mean " + near + "?"
		}
	}
	return e
}

func (o *policyOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.profile, "profile", "",
		"judge for `PROFILE`: virtual, host, container, or outside for tools of forges and MCP servers (default host)")
	f.StringVar(&o.Rules, "rules", "", "add the rules of `FILE`")
	o.registerSettings(f)
}

// policy loads the policy.
func (o *policyOptions) policy() (*policy.Policy, error) {
	conf, err := o.load()
	if err != nil {
		return nil, err
	}
	profile := o.profile
	if profile == "" {
		profile = config.PolicyProfile.Of(conf).V
	}
	if profile == "" {
		profile = "host"
	}
	if profile == "host" { // with the whitelist, as for hako host and the secretary
		root, err := filepath.Abs(o.root)
		if err != nil {
			return nil, err
		}
		return app.HostPolicy(conf, setup.Resolve(root))
	}
	return setup.LoadPolicy(conf, profile)
}

func newPolicyCheck(s streams) *cobra.Command {
	var o policyOptions
	cmd := command("policy check", func(cmd *cobra.Command, args []string) error {
		if o.batch {
			return cobra.NoArgs(cmd, args)
		}
		return oneCommand(cmd, args)
	}, func(cmd *cobra.Command, args []string) error {
		p, err := o.policy()
		if err != nil {
			return err
		}
		if o.batch {
			return checkBatch(s, p)
		}
		return o.check(s, p, args[0])
	})
	o.register(cmd)
	o.registerJSON(cmd.Flags(), "the verdicts")
	cmd.Flags().BoolVar(&o.batch, "batch", false, "judge many commands, one JSON object per line")
	cmd.Flags().StringVar(&o.root, "root", "", "judge paths as seen from `DIR` (default the current directory)")
	return cmd
}

// judgement is the result of one check.
type judgement struct {
	ID       json.RawMessage  `json:"id,omitempty"`
	Effect   policy.Effect    `json:"effect"`
	Verdicts []policy.Verdict `json:"verdicts"`
}

// judge returns the verdicts, the strictest first. A command that cannot be parsed is denied.
func judge(p *policy.Policy, command string) judgement {
	vs, err := p.Script(command)
	if err != nil {
		why := err.Error()
		vs = []policy.Verdict{{Argv: []string{command}, Why: why, Where: "syntax", Hint: fault.Hint(err)}}
	}
	sorted := make([]policy.Verdict, 0, len(vs))
	for _, effect := range []policy.Effect{policy.Deny, policy.Ask, policy.Allow} {
		for _, v := range vs {
			if v.Effect == effect {
				sorted = append(sorted, v)
			}
		}
	}
	return judgement{Effect: policy.Strictest(vs), Verdicts: sorted}
}

// effectStatus is the exit status of check.
var effectStatus = map[policy.Effect]int{policy.Allow: 0, policy.Ask: 10, policy.Deny: 5}

func (o *policyOptions) check(s streams, p *policy.Policy, command string) error {
	j := judge(p, command)
	if o.json {
		if err := encode(s.out, j); err != nil {
			return err
		}
	} else {
		for _, v := range j.Verdicts {
			fmt.Fprintln(s.out, verdictLine(v))
		}
		fmt.Fprintln(s.out, "=>", j.Effect)
	}
	if n := effectStatus[j.Effect]; n != 0 {
		return exitStatus(n)
	}
	return nil
}

func verdictLine(v policy.Verdict) string {
	line := fmt.Sprintf("%-5s %s", v.Effect, visible(strings.Join(v.Argv, " ")))
	if v.Why != "" {
		line += ": " + v.Why
	}
	if v.Where != "" {
		line += " (" + v.Where + ")"
	}
	if v.Late && v.Effect != policy.Deny {
		line += " [judged again when it runs]"
	}
	if v.Hint != "" && v.Effect != policy.Allow {
		line += "\n      hint: " + v.Hint
	}
	return line
}

// checkBatch judges one command per line. A malformed line is denied, so that answers match questions.
func checkBatch(s streams, p *policy.Policy) error {
	in := bufio.NewReaderSize(s.in, 1<<16)
	out := bufio.NewWriter(s.out)
	defer out.Flush()
	for {
		line, err := in.ReadBytes('\n')
		if len(strings.TrimSpace(string(line))) > 0 {
			if err := encode(out, judgeLine(p, line)); err != nil {
				return err
			}
			if in.Buffered() == 0 {
				out.Flush()
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func judgeLine(p *policy.Policy, line []byte) judgement {
	var q struct {
		ID      json.RawMessage `json:"id"`
		Command *string         `json:"command"`
	}
	if err := json.Unmarshal(line, &q); err != nil || q.Command == nil {
		return judgement{ID: q.ID,
			Verdicts: []policy.Verdict{{Why: `the line is not an object with "id" and "command"`, Where: "input"}}}
	}
	j := judge(p, *q.Command)
	j.ID = q.ID
	return j
}

// rulesTested is what policy test prints with --json.
type rulesTested struct {
	OK       bool         `json:"ok"`
	Examples int          `json:"examples"`        // of the rules; zero if they cannot be read
	Error    *fault.Error `json:"error,omitempty"` // the first error; nil means none
}

func newPolicyTest(s streams) *cobra.Command {
	var o policyOptions
	cmd := command("policy test", cobra.NoArgs, func(*cobra.Command, []string) error {
		n, err := o.testRules()
		if o.json {
			return errors.Join(encode(s.out, rulesTested{err == nil, n, errorResult(err)}), err)
		}
		if err == nil {
			fmt.Fprintf(s.out, "%d examples hold\n", n)
		}
		return err
	})
	o.register(cmd)
	o.registerJSON(cmd.Flags(), "{ok, examples, error}")
	return cmd
}

// testRules returns the number of examples and the first error.
func (o *policyOptions) testRules() (int, error) {
	p, err := o.policy()
	if err != nil {
		return 0, err
	}
	return p.Examples(), p.Test()
}

func newPolicyShow(s streams) *cobra.Command {
	var o policyOptions
	cmd := command("policy show", cobra.NoArgs, func(*cobra.Command, []string) error {
		p, err := o.policy()
		if err != nil {
			return err
		}
		if o.json {
			return encode(s.out, p.Categories())
		}
		return showRules(s.out, p)
	})
	o.register(cmd)
	o.registerJSON(cmd.Flags(), "the rules")
	return cmd
}

func showRules(w io.Writer, p *policy.Policy) error {
	for _, c := range p.Categories() {
		if c.Title != "" {
			fmt.Fprintf(w, "\n## %s\n", c.Title)
		}
		for _, r := range c.Commands {
			fmt.Fprintf(w, "%-5s %-16s # %s\n", r.Effect, r.Name, r.Why)
		}
	}
	return nil
}
