package rules

import (
	"encoding/json"
	"strconv"
	"strings"

	"hako/llm"
)

// A scriptJob is a script from spawn to the end of its output. Its result has the form of one of execute.
type scriptJob struct {
	output
	call   llm.Call // as the rules made it; none for the copy of the stream
	script string
	stdin  *int // nil means that it reads none

	spawned        bool
	stdout, stderr int
	ended          bool // stdout has
	done           bool
}

// maxRead is how many bytes of an output are read.
const maxRead = 48 << 10

// next is the next call of the job.
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

// broke ends a job after a failed call.
func (j *scriptJob) broke(result string) {
	j.Err = strings.TrimSpace(result)
	j.finish(2)
}

func (j *scriptJob) finish(status int) {
	j.done, j.Exit, j.OK, j.Total = true, status, status == 0, int64(len(j.Out))
}

// printed adds a page of the output.
func (j *scriptJob) printed(result string) {
	text, ended, ok := readPage(result)
	if !ok {
		j.broke(result)
		return
	}
	j.Out += text
	j.ended = ended
	j.Cut = !ended && len(j.Out) >= maxRead
}

// complained adds a page of standard error; after the last the job is done.
func (j *scriptJob) complained(result string) {
	text, ended, ok := readPage(result)
	if !ok {
		j.broke(result)
		return
	}
	j.Err += text
	if ended || len(j.Err) >= maxRead {
		j.finish(statusIn(result))
	}
}

// readPage parses a result of read: a line in brackets, then the text.
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
