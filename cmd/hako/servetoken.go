package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hako/internal/app"
	"hako/internal/app/access"
	"hako/internal/web/auth"
	"hako/run/fault"
)

// ephemeralName is the name of the token that hako serve prints. No other token may have it in the record.
const ephemeralName = "operator"

// tokenFlags are the flags of every command about tokens.
type tokenFlags struct{ common }

func newServeToken(s streams) *cobra.Command {
	var o tokenFlags
	cmd := command("serve token", nil, needSubcommand)
	f := cmd.PersistentFlags()
	o.registerSettings(f)
	o.registerAudit(f)
	o.registerJSON(f, "")
	cmd.AddCommand(o.add(s), o.list(s), o.remove(s))
	return cmd
}

func (o *tokenFlags) add(s streams) *cobra.Command {
	role := string(access.Reader)
	cmd := command("serve token add", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		if strings.EqualFold(args[0], ephemeralName) {
			return &fault.Error{Kind: fault.Invalid, Op: "add token", Subject: args[0],
				Why: "it is the name of the token that hako serve prints", Hint: "choose another name, as that of who will use it"}
		}
		return o.change("add token "+args[0]+" "+role, func(t *auth.Store) error {
			secret, err := t.Add(args[0], access.Role(role))
			switch {
			case err != nil:
				return err
			case o.json:
				return encode(s.out, map[string]string{"name": args[0], "role": role, "token": secret})
			}
			_, err = fmt.Fprintln(s.out, secret)
			return err
		})
	})
	cmd.Flags().StringVar(&role, "role", role, "role `ROLE`: reader, operator or client")
	return cmd
}

func (o *tokenFlags) remove(s streams) *cobra.Command {
	return command("serve token remove", cobra.ExactArgs(1), func(_ *cobra.Command, args []string) error {
		return o.change("remove token "+args[0], func(t *auth.Store) error { return t.Remove(args[0]) })
	})
}

func (o *tokenFlags) list(s streams) *cobra.Command {
	return command("serve token list", cobra.NoArgs, func(*cobra.Command, []string) error {
		conf, err := o.load()
		if err != nil {
			return err
		}
		tokens, err := app.TokenStore(conf).List()
		if err != nil {
			return err
		}
		if o.json {
			return encode(s.out, map[string][]auth.Token{"tokens": tokens})
		}
		if len(tokens) == 0 {
			fmt.Fprintln(s.err, "no tokens but the one that hako serve prints; hako serve token add NAME makes one")
			return nil
		}
		rows := [][]string{{"NAME", "ROLE", "CREATED"}}
		for _, t := range tokens {
			rows = append(rows, []string{t.Name, string(t.Role), t.Created.Local().Format(time.DateTime)})
		}
		return table(s.out, rows)
	})
}

// change records a change of the tokens, then makes it.
func (o *tokenFlags) change(what string, do func(*auth.Store) error) error {
	conf, b, err := o.openApp()
	if err != nil {
		return err
	}
	defer b.Close()
	done, err := b.Record("user", what)
	if err != nil {
		return err
	}
	err = do(app.TokenStore(conf))
	done(err)
	return err
}
