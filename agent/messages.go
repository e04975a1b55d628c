package agent

import (
	"strings"

	"hako/llm"
)

// maxSilent is how often in a row a model that called nothing is asked again.
const maxSilent = 2

// spoke handles a turn without calls: it ends the work, unless the model is to be asked again.
func (l *loop) spoke(last bool) {
	l.answer.Words = l.answer.Text
	if l.Again != nil && !last && l.silent < maxSilent {
		l.silent++
		l.add(llm.Item{Role: llm.System, Text: l.Again() + "\n" + l.status(l.turn+1)})
		return
	}
	l.done = true
	l.observe(Event{Type: "answer", Text: l.answer.Text})
}

// noteWords keeps or forgets what was said before calls. Words that the model went on from were no answer; those
// directly before Leave, or beside it, may be.
func (l *loop) noteWords(calls []llm.Call) {
	switch leaves := len(calls) == 1 && calls[0].Name == l.Leave; {
	case !leaves:
		l.answer.Words = ""
	case strings.TrimSpace(l.answer.Text) != "":
		l.answer.Words = l.answer.Text
	}
}
