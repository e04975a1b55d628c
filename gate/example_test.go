package gate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"hako/audit"
	"hako/gate"
	"hako/policy"
	"hako/quota"
	"hako/run"
	"hako/run/fault"
	"hako/shell"
	"hako/shell/command"
)

// A closed shell behind a gate: the policy judges every command, the budget bounds
// what a task may use, and the log has it on record.
func Example() {
	var record bytes.Buffer
	g := gate.New(shell.New(shell.Options{Commands: command.All()}), gate.Options{
		Policy: policy.Strict(),
		Log:    audit.NewWriter(&record, audit.Options{}),
		Budget: quota.New(quota.Limits{Scripts: 100}),
	})
	req := run.Request{Actor: "agent", Script: `printf 'b\na\n' | sort`, Stdout: os.Stdout}
	if _, err := g.Run(context.Background(), &req); err != nil {
		fmt.Println(err)
	}
	req.Script = "sort --compress-program=sh"
	_, err := g.Run(context.Background(), &req)
	fmt.Println(fault.KindOf(err) == fault.Denied)
	fmt.Println(strings.Count(record.String(), `"what":"ended"`), "requests on record")
	// Output:
	// a
	// b
	// true
	// 2 requests on record
}

// A rule may leave the decision to a person.
func ExampleOptions_ask() {
	rules, err := policy.Parse("my.policy", strings.NewReader("ask rm # deletes files"))
	if err != nil {
		fmt.Println(err)
		return
	}
	g := gate.New(shell.New(shell.Options{Commands: command.All()}), gate.Options{
		Policy: policy.Virtual().With(rules),
		Log:    audit.NewWriter(io.Discard, audit.Options{}),
		Budget: quota.New(quota.Limits{}),
		Ask: func(_ context.Context, q gate.Question) (gate.Answer, error) {
			fmt.Printf("%s wants to run %q: %s\n", q.Actor, q.Command, q.Why)
			return gate.No, nil
		},
	})
	_, err = g.Run(context.Background(), &run.Request{Actor: "agent", Script: "echo x > f; rm f"})
	var e *fault.Error
	if errors.As(err, &e) {
		fmt.Println(e.Why)
	}
	// Output:
	// agent wants to run "rm f": deletes files
	// a person said no
}

// Values that only the program knows are removed from refusals, questions and the record.
func ExampleOptions_secrets() {
	secrets := strings.NewReplacer("correct horse", "[redacted]")
	rules, err := policy.Parse("own.policy", strings.NewReader("deny rm # nothing is removed here"))
	if err != nil {
		panic(err)
	}
	g := gate.New(shell.New(shell.Options{Commands: command.All()}), gate.Options{
		Policy: rules, Log: audit.NewWriter(io.Discard, audit.Options{Secrets: secrets}),
		Budget: quota.New(quota.Limits{Scripts: 10}), Secrets: secrets,
	})
	_, err = g.Run(context.Background(), &run.Request{Actor: "agent", Script: `rm "correct horse"`})
	fmt.Println(err)
	// Output: denied rm [redacted]: nothing is removed here (own.policy:1)
}
