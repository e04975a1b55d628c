package llm_test

import (
	"context"
	"fmt"
	"strings"

	"hako/llm"
	"hako/llm/replay"
)

// A dialog goes in, the next turn comes out. Here the model is a recorded one; package openai, ollama and rules make
// others.
func Example() {
	model, err := replay.Parse(
		strings.NewReader(`{"text": "Two errors.", "usage": {"input_tokens": 40, "output_tokens": 4}}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	dialog := &llm.Dialog{
		System: "You answer in one sentence.",
		Items:  []llm.Item{{Role: llm.User, Text: "How many errors are in app.log?"}},
	}
	turn, err := model.Next(context.Background(), dialog)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(turn.Text, turn.Usage.Output, "tokens")
	// Output: Two errors. 4 tokens
}
