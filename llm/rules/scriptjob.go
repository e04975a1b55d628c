package rules

import (
	"encoding/json"
	"strconv"
	"strings"

	"hako/llm"
)

// A scriptJob is a script at the desk, from spawn to the end of what it printed. What came of it has the form that
// execute answers with.
type scriptJob struct {
	output
	call   llm.Call // as the rules made it; none for a job of the desk itself
	script string
	stdin  *int // nil means that it reads none

	spawned        bool
	stdout, stderr int
	ended          bool // stdout has
	done           bool
}

// mostRead is how much of an output the rules look at.
const mostRead = 48 << 10

// next is the call that brings the job further.
func (j *scriptJob) next(m *descriptorModel) llm.Call {
	switch {
	case !j.spawned:
		arguments := map[string]any{"script": j.script}
		if j.stdin != nil {
			arguments["stdin_fd"] = *j.stdin
		}
		return m.call("spawn", arguments, j.begun)
	case j.Cut:
		return m.call("close", map[string]any{"fd": j.stdout}, func(string) { j.finish(0) })
	case !j.ended:
		return m.call("read", map[string]any{"fd": j.stdout, "lines": 1000}, j.printed)
	}
	return m.call("read", map[string]any{"fd": j.stderr, "lines": 1000}, j.complained)
}

func (j *scriptJob) begun(result string) {
	var fds struct {
		Success  bool
		StdoutFD int `json:"stdout_fd"`
		StderrFD int `json:"stderr_fd"`
	}
	if json.NewDecoder(strings.NewReader(result)).Decode(&fds) != nil || !fds.Success {
		j.broke(result)
		return
	}
	j.spawned, j.stdout, j.stderr = true, fds.StdoutFD, fds.StderrFD
}

// broke ends a job that the desk refused to go on with.
func (j *scriptJob) broke(result string) {
	j.Err = strings.TrimSpace(result)
	j.finish(2)
}

func (j *scriptJob) finish(status int) {
	j.done, j.Exit, j.OK, j.Total = true, status, status == 0, int64(len(j.Out))
}

// printed takes in a page of the output.
func (j *scriptJob) printed(result string) {
	text, ended, ok := readPage(result)
	if !ok {
		j.broke(result)
		return
	}
	j.Out += text
	j.ended = ended
	j.Cut = !ended && len(j.Out) >= mostRead
}

// complained takes in a page of the messages; after the last the job is done.
func (j *scriptJob) complained(result string) {
	text, ended, ok := readPage(result)
	if !ok {
		j.broke(result)
		return
	}
	j.Err += text
	if ended || len(j.Err) >= mostRead {
		j.finish(statusIn(result))
	}
}

// readPage takes apart what read answers: a line in brackets, then the text.
func readPage(result string) (text string, ended, ok bool) {
	head, text, _ := strings.Cut(result, "\n")
	if !strings.HasPrefix(head, "[fd ") || strings.Contains(head, "then it broke off") {
		return "", false, false
	}
	return text, strings.Contains(head, "end of file"), true
}

// statusIn finds the status in that line.
func statusIn(result string) int {
	head, _, _ := strings.Cut(result, "\n")
	_, after, found := strings.Cut(head, " with status ")
	digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
	n, err := strconv.Atoi(digits)
	if !found || err != nil {
		return 2
	}
	return n
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return text
}
