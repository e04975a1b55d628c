package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/audit"
	"hako/internal/app/records"
	"hako/internal/config"
	"hako/internal/text"
	"hako/run/fault"
)

// auditOptions are the flags of hako audit.
type auditOptions struct {
	common
	n            int
	follow       bool
	filter       audit.Filter
	since, until string
}

func newAudit(s streams) *cobra.Command {
	cmd := command("audit", nil, needSubcommand)
	cmd.AddCommand(newAuditTail(s), newAuditQuery(s), newAuditStats(s), newAuditVerify(s))
	return cmd
}

func (o *auditOptions) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&o.Audit, "audit", "", "read the record in `FILE`")
	o.registerSettings(f)
	o.registerJSON(f, "")
}

func (o *auditOptions) path() (string, error) {
	conf, err := o.load()
	if err != nil {
		return "", err
	}
	return config.AuditPath.Of(conf).V, nil
}

// open opens the record for reading.
func (o *auditOptions) open() (*os.File, error) {
	path, err := o.path()
	if err != nil {
		return nil, err
	}
	f, err := audit.OpenRead(path)
	return f, noRecord(err, path)
}

// noRecord adds a hint to the error of a missing record.
func noRecord(err error, path string) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	return &fault.Error{Kind: fault.NotFound, Op: "read audit log", Subject: path, Why: "there is none",
		Hint: "nothing was recorded there yet: run something with hako sh, or name the record with --audit"}
}

func newAuditTail(s streams) *cobra.Command {
	var o auditOptions
	cmd := command("audit tail", cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if o.n < 0 {
			return &fault.Error{Kind: fault.Invalid, Op: "audit tail", Subject: fmt.Sprint(o.n), Why: "it is below 0",
				Hint: "write how many events you want: -n 20"}
		}
		return o.tail(cmd.Context(), s.out)
	})
	o.register(cmd)
	cmd.Flags().IntVarP(&o.n, "lines", "n", 10, "print the last `N` events")
	cmd.Flags().BoolVarP(&o.follow, "follow", "f", false, "also print new events as they are written")
	return cmd
}

// tail prints the last events, and with --follow new ones as they are written.
func (o *auditOptions) tail(ctx context.Context, w io.Writer) error {
	path, err := o.path()
	if err != nil {
		return err
	}
	if o.follow {
		return noRecord(audit.Follow(ctx, path, o.n, func(e audit.Event) error { return o.print(w, e) }), path)
	}
	f, err := o.open()
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	events, err := audit.Tail(f, info.Size(), o.n)
	if err != nil {
		return err
	}
	return o.print(w, events...)
}

func newAuditQuery(s streams) *cobra.Command {
	var o auditOptions
	cmd := command("audit query", cobra.NoArgs, func(*cobra.Command, []string) error {
		if err := o.times(); err != nil {
			return err
		}
		if err := checkWhat(o.filter.What); err != nil {
			return err
		}
		f, err := o.open()
		if err != nil {
			return err
		}
		defer f.Close()
		events, err := audit.Query(f, o.filter)
		if err != nil {
			return err
		}
		return o.print(s.out, events...)
	})
	o.register(cmd)
	f := cmd.Flags()
	f.StringVar(&o.filter.ID, "id", "", "events of the request `ID`")
	f.StringVar(&o.filter.Actor, "actor", "", "events of `ACTOR`")
	f.StringVar(&o.filter.What, "what", "", "events of the kind `WHAT`: asked, denied, started, allowed, closed, ended…")
	f.StringVar(&o.filter.Command, "command", "", "events about the command `NAME`")
	f.StringVar(&o.filter.Text, "text", "", "events that mention `TEXT`")
	f.IntVar(&o.filter.Limit, "limit", 1000, "the newest `N`; 0 means all")
	f.StringVar(&o.since, "since", "", "not before `TIME`: 24h, 2026-01-31 or 2026-01-31T15:04:05Z")
	f.StringVar(&o.until, "until", "", "before `TIME`")
	return cmd
}

func checkWhat(what string) error {
	if what == "" || slices.Contains(records.Kinds(), what) {
		return nil
	}
	return &fault.Error{Kind: fault.Invalid, Op: "audit query", Subject: what, Why: "there are no such events",
		Hint: "they are " + strings.Join(records.Kinds(), ", ")}
}

// times reads --since and --until.
func (o *auditOptions) times() error {
	for _, t := range []struct {
		text string
		to   *time.Time
	}{{o.since, &o.filter.Since}, {o.until, &o.filter.Until}} {
		if t.text == "" {
			continue
		}
		at, err := parseWhen(t.text)
		if err != nil {
			return err
		}
		*t.to = at
	}
	return nil
}

// parseWhen parses a duration before now, a day or a full time.
func parseWhen(text string) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return time.Now().Add(-d), nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if t, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return t, nil
		}
	}
	return time.Time{}, &fault.Error{Kind: fault.Invalid, Op: "read time", Subject: text, Why: "it is not a time",
		Hint: "write 24h, 2026-01-31 or 2026-01-31T15:04:05Z"}
}

func (o *auditOptions) print(w io.Writer, events ...audit.Event) error {
	for _, e := range events {
		if o.json {
			if err := encode(w, e); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintln(w, eventLine(e)); err != nil {
			return err
		}
	}
	return nil
}

// eventLine formats an event.
func eventLine(e audit.Event) string {
	line := fmt.Sprintf("%s %-8s %s", e.Time.Local().Format("2006-01-02 15:04:05"), e.What, e.ID)
	switch about := e.About(); {
	case e.What == audit.Answered:
		line += fmt.Sprintf("  %s, %s, %d bytes", visible(about), micros(e.Micros), e.Bytes)
	case e.What != audit.Called && e.Provider != "":
		line += "  " + modelText(e)
	case e.Script != "":
		line += "  " + firstLine(about)
	case len(e.Argv) > 0 || e.What == audit.Called:
		line += "  " + visible(about)
	case e.Path != "":
		line += fmt.Sprintf("  %s %s, %d bytes", e.Mode, visible(about), e.Bytes)
	}
	if e.What == audit.Ended {
		line += fmt.Sprintf("  exit %d, %s, %d bytes", e.Exit, time.Duration(e.Micros)*time.Microsecond, e.Bytes)
	}
	for _, extra := range []string{e.Reason, e.Error} {
		if extra != "" {
			line += ": " + firstLine(extra)
		}
	}
	if e.Rule != "" {
		line += " (" + e.Rule + ")"
	}
	if e.Count > 1 {
		line += fmt.Sprintf(", %d times", e.Count)
	}
	return line
}

// modelText formats the model of an event and its usage.
func modelText(e audit.Event) string {
	text := visible(e.Provider)
	if e.What != audit.Model {
		return text
	}
	text += fmt.Sprintf(", %s, %d tokens in (%d cached), %d out", micros(e.Micros), e.Input+e.Cached, e.Cached, e.Output)
	if e.Cost > 0 {
		text += fmt.Sprintf(", $%.6f", e.Cost)
	}
	return text
}

func firstLine(s string) string {
	first, _, more := strings.Cut(s, "\n")
	if more {
		first += " …"
	}
	return visible(first)
}

// visible spells out control characters: text from a script must not forge lines of the record or steer the terminal.
func visible(s string) string { return text.RecordLine(s) }

func newAuditVerify(s streams) *cobra.Command {
	var o auditOptions
	cmd := command("audit verify", cobra.NoArgs, func(*cobra.Command, []string) error {
		path, err := o.path()
		if err != nil {
			return err
		}
		report, err := audit.VerifyFile(path)
		if err != nil {
			return noRecord(err, path)
		}
		if o.json {
			if err := encode(s.out, report); err != nil {
				return err
			}
		} else if report.OK() {
			fmt.Fprintln(s.out, report)
		}
		return report.Err()
	})
	o.register(cmd)
	return cmd
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
