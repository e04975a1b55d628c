package shell_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"hako/run"
	"hako/shell"
	"hako/shell/command"
	"hako/shell/spec"
	"hako/shell/vfs"
)

func Example() {
	files := vfs.New(vfs.Options{})
	if err := files.WriteFile("/box/app.log", []byte("INFO start\nERROR disk\nERROR net\n"), 0o644); err != nil {
		fmt.Println(err)
		return
	}
	session := shell.New(shell.Options{FS: files, Commands: command.All()})
	for _, script := range []string{
		`n=$(grep -c ERROR app.log)`,
		`echo "$n errors"; python3 -V`, // variables stay; there are no programs
	} {
		res, err := session.Run(context.Background(), &run.Request{Script: script, Stdout: os.Stdout})
		if err != nil || res.Exit != 0 {
			fmt.Println("status", res.Exit, err)
		}
	}
	// Output:
	// 2 errors
	// status 127 <nil>
}

// A command of one's own has a spec: its options are parsed by it, and its help
// and usage errors come from it.
func ExampleCommand() {
	shout := shell.Command{
		Name: "shout",
		Spec: spec.MustParse(`name: shout
usage: [-n N] [word...]
summary: print words in capitals
options: n,times:
operands: text...

  -n N  that many times
`),
		Run: func(_ context.Context, c *shell.Call) error {
			opts, words, err := c.Options()
			if err != nil {
				return err
			}
			text := strings.ToUpper(strings.Join(words, " ")) + "\n"
			if len(opts) > 0 && opts[0].Value == "2" {
				text += text
			}
			_, err = c.Stdout.WriteString(text)
			return err
		},
	}
	commands := command.All()
	commands["shout"] = shout
	session := shell.New(shell.Options{Commands: commands})
	script := `echo quiet; shout -n 2 hear me | tac; shout --loud 2>&1; shout --help`
	if _, err := session.Run(context.Background(), &run.Request{Script: script, Stdout: os.Stdout}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// quiet
	// HEAR ME
	// HEAR ME
	// shout: unrecognized option '--loud'
	// Try 'shout --help' for more information.
	// usage: shout [-n N] [word...]
	// print words in capitals
	//
	//   -n N  that many times
}
