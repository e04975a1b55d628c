package man

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A page is the manual page of one command.
type page struct{ *cobra.Command }

// pages returns the pages of a command and of all visible commands below it.
func pages(cmd *cobra.Command) []page {
	all := []page{{cmd}}
	for _, sub := range cmd.Commands() {
		if shown(sub) {
			all = append(all, pages(sub)...)
		}
	}
	return all
}

func shown(c *cobra.Command) bool {
	return c.IsAvailableCommand() || c.IsAdditionalHelpTopicCommand()
}

// name is the path of the command as one word: hako-env-up.
func (p page) name() string { return strings.ReplaceAll(p.CommandPath(), " ", "-") }

func (p page) file() string { return p.name() + ".1" }

// roff formats the page for man(1).
func (p page) roff() string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"hako\" \"hako manual\"\n", quoted(strings.ToUpper(p.name())))
	b.WriteString(".nh\n.ad l\n")
	section(&b, "NAME", escape(p.name())+" \\- "+escape(p.Short)+"\n")
	if !p.IsAdditionalHelpTopicCommand() {
		section(&b, "SYNOPSIS", p.synopsis())
	}
	section(&b, "DESCRIPTION", verbatim(p.about()))
	section(&b, "OPTIONS", options(p.NonInheritedFlags()))
	section(&b, "OPTIONS OF ALL ITS COMMANDS", options(p.InheritedFlags()))
	section(&b, "COMMANDS", p.commands())
	section(&b, "EXAMPLES", verbatim(p.Example))
	section(&b, "EXIT STATUS", p.status())
	section(&b, "SEE ALSO", p.seeAlso())
	return b.String()
}

func section(b *strings.Builder, title, text string) {
	if text != "" {
		fmt.Fprintf(b, ".SH %s\n%s", quoted(title), text)
	}
}

func (p page) about() string {
	if p.Long != "" {
		return p.Long
	}
	return p.Short + "."
}

func (p page) synopsis() string {
	line := p.UseLine()
	if !p.Runnable() {
		line = p.CommandPath() + " COMMAND"
	}
	path := p.CommandPath()
	return ".B " + escape(path) + "\n" + escapeLine(strings.TrimSpace(strings.TrimPrefix(line, path))) + "\n"
}

// commands lists the subcommands.
func (p page) commands() string {
	var b strings.Builder
	for _, c := range p.Commands() {
		if shown(c) {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", escape(c.Name()), escapeLine(c.Short))
		}
	}
	return b.String()
}

// status refers to the page of exit statuses.
func (p page) status() string {
	if p.IsAdditionalHelpTopicCommand() {
		return ""
	}
	return "0 if it went well; otherwise see\n.BR hako\\-exit\\-status (1).\n"
}

func (p page) seeAlso() string {
	var names []string
	if p.HasParent() {
		names = append(names, page{p.Parent()}.name())
	}
	for _, c := range p.Commands() {
		if shown(c) {
			names = append(names, page{c}.name())
		}
	}
	for i, n := range names {
		names[i] = ".BR " + escape(n) + " (1)"
	}
	return strings.Join(names, ",\n") + "\n"
}

func options(flags *pflag.FlagSet) string {
	var b strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			b.WriteString(option(f))
		}
	})
	return b.String()
}

func option(f *pflag.Flag) string {
	value, usage := pflag.UnquoteUsage(f)
	name := "\\fB" + escape("--"+f.Name) + "\\fR"
	if f.Shorthand != "" {
		name = "\\fB" + escape("-"+f.Shorthand) + "\\fR, " + name
	}
	switch {
	case value != "" && f.NoOptDefVal != "":
		name += "[=\\fI" + escape(value) + "\\fR]"
	case value != "":
		name += " \\fI" + escape(value) + "\\fR"
	}
	if standard(f) {
		usage += " (default " + f.DefValue + ")"
	}
	return ".TP\n" + name + "\n" + escapeLine(usage) + "\n"
}

// standard reports whether the default is worth mentioning.
func standard(f *pflag.Flag) bool {
	return !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue)
}

// verbatim keeps lines and columns: the texts are formatted for a terminal.
func verbatim(text string) string {
	text = strings.TrimRight(text, "\n ")
	if text == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(".nf\n")
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(escapeLine(line) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// escapeLine is escape for the beginning of a line, where a dot or an apostrophe would
// be a request, and an empty line a warning.
func escapeLine(s string) string {
	s = escape(s)
	if s == "" {
		return ".sp"
	}
	if strings.HasPrefix(s, ".") || strings.HasPrefix(s, `\(aq`) {
		return `\&` + s
	}
	return s
}

// escape escapes what roff would change: people copy examples.
func escape(s string) string {
	return strings.NewReplacer(`\`, `\(rs`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(s)
}

// quoted formats an argument of a request.
func quoted(s string) string { return `"` + strings.ReplaceAll(escape(s), `"`, `\(dq`) + `"` }
