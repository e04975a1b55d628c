package main

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"hako/internal/config"
	"hako/internal/setup"
	"hako/run/fault"
)

func newConfig(s streams) *cobra.Command {
	cmd := command("config", nil, needSubcommand)
	cmd.AddCommand(newConfigInit(s), newConfigShow(s), newConfigCheck(s))
	return cmd
}

func newConfigInit(s streams) *cobra.Command {
	return command("config init", cobra.MaximumNArgs(1), func(_ *cobra.Command, args []string) error {
		name := config.UserFile()
		if len(args) > 0 {
			name = args[0]
		}
		if err := writeNew(name, config.Example()); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "%s: written\n", name)
		return nil
	})
}

// writeNew creates a file that only its owner can read, because keys may be put into it.
func writeNew(name, text string) error {
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.WriteString(text)
			if err = errors.Join(err, f.Close()); err != nil {
				os.Remove(name) // a partial file would make the next try fail
			}
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return &fault.Error{Kind: fault.Invalid, Op: "write settings", Subject: name, Why: "the file exists already",
			Hint: "edit it, or move it away first"}
	}
	return &fault.Error{Op: "write settings", Subject: name, Err: setup.ReasonOf(err)}
}

func newConfigShow(s streams) *cobra.Command {
	var o common
	cmd := command("config show", cobra.NoArgs, func(*cobra.Command, []string) error {
		c, err := o.load()
		if err != nil {
			return err
		}
		return o.output(s.out, c.Show(), func() error {
			for _, v := range c.Show() {
				fmt.Fprintf(s.out, "%-48s %-24s %s\n", v.Name, visible(v.Value), visible(v.From))
			}
			return nil
		})
	})
	o.register(cmd.Flags())
	o.registerJSON(cmd.Flags(), "")
	return cmd
}

// settingsChecked is what config check prints with --json.
type settingsChecked struct {
	OK    bool         `json:"ok"`
	Files []string     `json:"files"`           // the settings files; empty if none was read, or on an error
	Error *fault.Error `json:"error,omitempty"` // nil means that everything is valid
}

func newConfigCheck(s streams) *cobra.Command {
	var o common
	cmd := command("config check", cobra.NoArgs, func(*cobra.Command, []string) error {
		files, err := o.checkSettings()
		if o.json {
			return errors.Join(encode(s.out, settingsChecked{err == nil, files, errorResult(err)}), err)
		}
		if err == nil {
			fmt.Fprintf(s.out, "%s: fine\n", cmp.Or(strings.Join(files, ", "), "no settings file"))
		}
		return err
	})
	o.register(cmd.Flags())
	o.registerJSON(cmd.Flags(), "{ok, files, error}")
	return cmd
}

// checkSettings returns the settings files and the first error.
func (o *common) checkSettings() ([]string, error) {
	c, err := o.load()
	if err != nil {
		return []string{}, err
	}
	files := append([]string{}, c.Sources()...)
	p, err := setup.LoadPolicy(c, "host")
	if err != nil {
		return files, err
	}
	return files, p.Test()
}

// errorResult is an error as a result of a check: its whole text is the reason. Nil stays nil.
func errorResult(err error) *fault.Error {
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.KindOf(err), Why: err.Error(), Hint: fault.Hint(err)}
}
