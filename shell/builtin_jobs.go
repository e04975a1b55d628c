package shell

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// sigTerm is what kill sends if nothing else is said.
const sigTerm = 15

// jobCommand returns the commands about jobs. Without jobs there is nothing to
// wait for and nothing to list, and kill does not exist.
func (p *proc) jobCommand(name string) func([]string) error {
	switch {
	case !p.ses.has(name):
		return nil
	case !p.ses.Jobs:
		return func([]string) error { return nil }
	case name == "wait":
		return p.waitCmd
	case name == "jobs":
		return p.jobsCmd
	}
	return p.killCmd
}

// listed returns the jobs that jobs would list.
func (p *proc) listed() []*job {
	return slices.DeleteFunc(slices.Clone(p.jobs), func(j *job) bool { return j.told })
}

// jobBySpec finds what %1, %%, %-, %name stand for.
func (p *proc) jobBySpec(spec string) *job {
	list := p.listed()
	spec = spec[1:]
	switch n, err := strconv.Atoi(spec); {
	case spec == "" || spec == "%" || spec == "+":
		return fromEnd(list, 1)
	case spec == "-":
		return fromEnd(list, min(2, len(list)))
	case err == nil:
		list = slices.DeleteFunc(list, func(j *job) bool { return j.number != n })
	default:
		list = slices.DeleteFunc(list, func(j *job) bool { return !strings.HasPrefix(j.text, spec) })
	}
	return fromEnd(list, 1)
}

func fromEnd(list []*job, n int) *job {
	if n < 1 || n > len(list) {
		return nil
	}
	return list[len(list)-n]
}

// waitCmd waits for jobs: all, the next, or those named.
func (p *proc) waitCmd(args []string) error {
	next := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-n":
			next = true
		case "-f", "--":
		default:
			p.errorf("wait: %s: invalid option", args[0])
			return ErrUsage
		}
		args = args[1:]
	}
	switch {
	case next:
		return p.waitNext(args)
	case len(args) == 0:
		return p.waitAll()
	}
	var last error
	for _, arg := range args {
		j, err := p.child(arg)
		if err == nil {
			err = p.await(j)
		}
		if err != nil && stops(err) {
			return err
		}
		last = err
	}
	return last
}

func (p *proc) waitAll() error {
	for _, j := range p.jobs {
		if j.owner != p {
			continue
		}
		if err := p.await(j); err != nil && stops(err) {
			return err
		}
	}
	p.jobs = nil
	return nil
}

// child returns a job of this shell by its number; the error is a status.
func (p *proc) child(arg string) (*job, error) {
	var j *job
	pid, err := strconv.Atoi(arg)
	switch {
	case strings.HasPrefix(arg, "%"):
		if j = p.jobBySpec(arg); j == nil {
			p.errorf("wait: %s: no such job", arg)
			return nil, Status(127)
		}
		pid = j.pid
	case err != nil || pid < 0:
		p.errorf("wait: `%s': not a pid or valid job spec", arg)
		return nil, Status(1)
	}
	for _, j := range p.jobs {
		if j.pid == pid && j.owner == p {
			return j, nil
		}
	}
	p.errorf("wait: pid %d is not a child of this shell", pid)
	return nil, Status(127)
}

// await waits for a job and returns its status.
func (p *proc) await(j *job) error {
	select {
	case <-j.done:
	case <-p.ctx.Done():
		return context.Cause(p.ctx)
	}
	j.told = true
	return asStatus(j.status)
}

// waitNext waits for whichever of the jobs ends next.
func (p *proc) waitNext(args []string) error {
	var list []*job
	for _, j := range p.listed() {
		if j.owner == p && (len(args) == 0 || slices.Contains(args, strconv.Itoa(j.pid)) ||
			slices.Contains(args, "%"+strconv.Itoa(j.number))) {
			list = append(list, j)
		}
	}
	if len(list) == 0 {
		return Status(127)
	}
	for _, j := range list {
		if j.ended() {
			return p.await(j)
		}
	}
	cases := []reflect.SelectCase{{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(p.ctx.Done())}}
	for _, j := range list {
		cases = append(cases, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(j.done)})
	}
	i, _, _ := reflect.Select(cases)
	if i == 0 {
		return context.Cause(p.ctx)
	}
	return p.await(list[i-1])
}

// jobsCmd lists the jobs. What has ended is listed once.
func (p *proc) jobsCmd(args []string) error {
	mode := strings.ReplaceAll(strings.Join(args, ""), "-", "")
	if strings.Trim(mode, "lpr") != "" {
		return ErrUsage
	}
	list := p.listed()
	for i, j := range list {
		ended := j.ended()
		if ended && j.owner == p {
			j.told = true
		}
		if ended && strings.Contains(mode, "r") {
			continue
		}
		if strings.Contains(mode, "p") {
			p.print(strconv.Itoa(j.pid))
			continue
		}
		pid := ""
		if strings.Contains(mode, "l") {
			pid = fmt.Sprintf("%5d", j.pid)
		}
		p.print(fmt.Sprintf("[%d]%s %s %-24s%s", j.number, mark(len(list)-i), pid, j.state(), j.command()))
	}
	return nil
}

// mark shows the current job and the one before.
func mark(fromEnd int) string {
	switch fromEnd {
	case 1:
		return "+"
	case 2:
		return "-"
	}
	return " "
}

func (j *job) command() string {
	if j.ended() {
		return j.text
	}
	return j.text + " &"
}

func (j *job) state() string {
	switch {
	case !j.ended():
		return "Running"
	case j.status == 0:
		return "Done"
	case j.status == 128+sigTerm:
		return "Terminated"
	case j.status == 128+9:
		return "Killed"
	}
	return fmt.Sprintf("Exit %d", j.status)
}

// killCmd ends jobs. They are not told by which signal and cannot trap it.
func (p *proc) killCmd(args []string) error {
	signal := sigTerm
	if len(args) > 0 && strings.HasPrefix(args[0], "-") && len(args[0]) > 1 {
		name := args[0][1:]
		args = args[1:]
		if name == "l" || name == "L" {
			return p.listSignals(args)
		}
		if (name == "s" || name == "n") && len(args) > 0 {
			name, args = args[0], args[1:]
		}
		var err error
		if name != "-" {
			signal, err = signalNumber(name)
		}
		if err != nil {
			return err
		}
	}
	if len(args) == 0 {
		return ErrUsage
	}
	status := 0
	for _, arg := range args {
		if err := p.kill(arg, signal); err != nil {
			p.errorf("kill: %v", err)
			status = 1
		}
	}
	return asStatus(status)
}

func (p *proc) kill(arg string, signal int) error {
	if strings.HasPrefix(arg, "%") {
		j := p.jobBySpec(arg)
		if j == nil {
			return fmt.Errorf("%s: no such job", arg)
		}
		arg = strconv.Itoa(j.pid)
	}
	pid, err := strconv.Atoi(arg)
	if err != nil {
		return fmt.Errorf("%s: arguments must be process or job IDs", arg)
	}
	j := p.ses.jobs.find(pid)
	if j == nil {
		return fmt.Errorf("(%d) - No such process", pid)
	}
	switch signals[signal] {
	case "EXIT", "CHLD", "CONT", "URG", "WINCH": // which no job would notice
	case "STOP", "TSTP", "TTIN", "TTOU":
		return errors.New("jobs cannot be halted in this shell, only ended")
	default:
		j.kill(signal)
	}
	return nil
}

// signalNumber reads a signal by name or number; 0 only asks.
func signalNumber(s string) (int, error) {
	name, err := signalName(s)
	n := slices.Index(signals, name)
	if err != nil || n > 31 {
		return 0, errors.New(s + ": invalid signal specification")
	}
	return n, nil
}

// listSignals prints the names of signals, for kill -l.
func (p *proc) listSignals(args []string) error {
	if len(args) == 0 {
		p.print(strings.Join(signals[1:32], " "))
		return nil
	}
	for _, arg := range args {
		n, err := strconv.Atoi(arg)
		if err == nil && n > 128 {
			arg = strconv.Itoa(n - 128)
		}
		name, serr := signalName(arg)
		if serr != nil {
			return serr
		}
		if err != nil {
			name = strconv.Itoa(slices.Index(signals, name))
		}
		p.print(name)
	}
	return nil
}
