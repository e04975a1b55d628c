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

// writeNew makes a file that only its owner can read, as a key may be put in it.
func writeNew(name, text string) error {
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
			_, err = f.WriteString(text)
			if err = errors.Join(err, f.Close()); err != nil {
				os.Remove(name) // half of it would be in the way of the next try
			}
		}
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return &fault.Error{Kind: fault.Invalid, Op: "write settings", Subject: name, Why: "the file is there already",
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
	Files []string     `json:"files"`           // the settings files; empty if none was read, or one cannot be
	Error *fault.Error `json:"error,omitempty"` // what is wrong; nil means nothing
}

func newConfigCheck(s streams) *cobra.Command {
	var o common
	cmd := command("config check", cobra.NoArgs, func(*cobra.Command, []string) error {
		files, err := o.checkSettings()
		if o.json {
			return errors.Join(encode(s.out, settingsChecked{err == nil, files, asFound(err)}), err)
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

// checkSettings returns the settings files that were read, and what is wrong.
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

// asFound is an error as a check prints it among its results: all of it is the
// reason, whatever it was made of. Nil stays nil.
func asFound(err error) *fault.Error {
	if err == nil {
		return nil
	}
	return &fault.Error{Kind: fault.KindOf(err), Why: err.Error(), Hint: fault.Hint(err)}
}
