package agent_test

import (
	"context"
	"fmt"
	"strings"

	"hako/agent"
	"hako/agent/tool"
	"hako/audit"
	"hako/llm"
	"hako/llm/replay"
	"hako/quota"
)

// list is a log that keeps the kinds of its events.
type list []string

func (l *list) Append(e audit.Event) error {
	*l = append(*l, string(e.What))
	return nil
}

// An agent with one tool and a recorded model: the model asks for the weather, reads the answer and says so.
func Example() {
	model, err := replay.Parse(strings.NewReader(`
{"calls": [{"name": "weather", "arguments": {"city": "Kyoto"}}]}
{"text": "It rains in Kyoto."}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	type input struct {
		City string `json:"city"`
	}
	weather := tool.New("weather", "Tells the weather of a city.", func(_ context.Context, in input) (string, error) {
		return in.City + ": rain", nil
	})
	var log list
	a := agent.Agent{Model: model, Tools: []tool.Tool{weather}, Budget: quota.New(quota.Limits{}), Log: &log}
	answer, err := a.Run(context.Background(), new(llm.Dialog), agent.Request{Text: "How is the weather in Kyoto?"})
	fmt.Println(answer.Text, answer.Turns, "turns", err)
	fmt.Println(log)
	// Output:
	// It rains in Kyoto. 2 turns <nil>
	// [called answered]
}
