package sandboxes

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"hako/container"
	"hako/container/guest"
	"hako/run"
)

// Containers is implemented by [*container.Manager].
type Containers interface {
	Tasks(ctx context.Context) ([]container.Info, error)
	Details(ctx context.Context, task string) (container.Details, error)
	Jobs(ctx context.Context, task string) (container.JobClient, error)
	Cleanup(ctx context.Context, task string) error
}

// A statsReader reports the resource usage of its container.
type statsReader interface {
	Stats(ctx context.Context, disk bool) (guest.Stats, error)
}

// Timeouts: of the whole list, of the engine's part of it, and of one container.
const (
	listTimeout      = 2 * time.Second
	engineTimeout    = time.Second
	containerTimeout = time.Second
)

// maxConcurrent is how many containers are asked concurrently.
const maxConcurrent = 8

// containers lists the containers of tasks, without their usage.
func (w *Service) containers(ctx context.Context) (list []Sandbox, err error) {
	if w.Containers == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	all, err := w.Containers.Tasks(ctx)
	for _, i := range all {
		list = append(list, Sandbox{ID: taskPrefix + i.TaskUUID, Kind: "container", Environment: i.Environment,
			State: string(i.Status), Network: string(i.Network), Created: i.Created})
	}
	return list, err
}

// measure adds the usage and the jobs of containers, several at a time.
func (w *Service) measure(ctx context.Context, list []Sandbox, owners []string) {
	var group sync.WaitGroup
	places := make(chan struct{}, maxConcurrent)
	for i := range list {
		if owners[i] == "" || w.Containers == nil || !alive(list[i]) {
			continue
		}
		places <- struct{}{}
		group.Go(func() {
			w.measureOne(ctx, &list[i], owners[i])
			<-places
		})
	}
	group.Wait()
}

// alive reports whether the guest of a container can answer.
func alive(b Sandbox) bool {
	switch container.State(b.State) {
	case container.Created, container.Initializing, container.Stopped, container.Deleted:
		return false
	}
	return true
}

// measureOne asks the guest, which answers at once, or else the engine. Unknown values stay unset.
func (w *Service) measureOne(ctx context.Context, b *Sandbox, task string) {
	ctx, cancel := context.WithTimeout(ctx, containerTimeout)
	defer cancel()
	if ctx.Err() != nil {
		return
	}
	box, err := w.Containers.Jobs(ctx, task)
	if err != nil {
		w.askEngine(ctx, b, task)
		return
	}
	if g, ok := box.(statsReader); ok {
		if s, err := g.Stats(ctx, false); err == nil {
			b.Usage = usageOf(s)
			markBusy(b, s)
		}
	}
	if jobs, err := box.Jobs(ctx); err == nil {
		b.Jobs = w.jobsOf(jobs)
	}
}

// markBusy marks a container in which something runs.
func markBusy(b *Sandbox, s guest.Stats) {
	if s.Running > 0 && b.State == string(container.Ready) {
		b.State = string(container.Running)
	}
}

func (w *Service) askEngine(ctx context.Context, b *Sandbox, task string) {
	x, err := w.Containers.Details(ctx, task)
	if err != nil {
		return
	}
	if b.ID == taskPrefix+task {
		b.State = string(x.Status)
	}
	if x.Usage != nil {
		b.Usage = usageOf(*x.Usage)
	}
}

func usageOf(s guest.Stats) *Usage {
	return &Usage{CPUSeconds: s.CPU.Seconds(), Memory: s.Memory, MemoryLimit: s.MemoryLimit, Disk: s.Disk,
		DiskLimit: s.DiskLimit, Processes: s.Processes}
}

// Limits of what is shown of jobs.
const (
	maxJobs    = 50
	maxCommand = 2000
)

func (w *Service) jobsOf(all []run.Job) (list []Job) {
	for _, j := range all[max(0, len(all)-maxJobs):] {
		j.Command = w.Secrets.Text(shorten(j.Command))
		list = append(list, JobOf(j))
	}
	return list
}

// JobOf converts a job for the API.
func JobOf(j run.Job) Job {
	return Job{ID: string(j.Handle), Command: j.Command, State: string(j.State), Exit: j.ExitCode(), Started: j.Began}
}

func shorten(text string) string {
	if len(text) <= maxCommand {
		return text
	}
	return strings.ToValidUTF8(text[:maxCommand], "") + "…"
}

// jobOutput reads the output of a job.
func (w *Service) jobOutput(ctx context.Context, task, job string, offset int64, most int) (string, int64, error) {
	box, err := w.Containers.Jobs(ctx, task)
	if err != nil {
		return "", 0, err
	}
	fromEnd := offset < 0
	if fromEnd {
		j, err := box.Job(ctx, run.JobHandle(job))
		if err != nil {
			return "", 0, err
		}
		offset = max(0, j.Bytes+offset)
	}
	page, err := box.Output(ctx, run.JobHandle(job), offset, most)
	if err != nil {
		return "", 0, err
	}
	data := page.Data
	if fromEnd {
		data = fromCharacter(data)
	}
	return w.Secrets.Text(strings.ToValidUTF8(string(data), "\uFFFD")), page.Next, nil
}

// fromCharacter skips an incomplete character at the beginning.
func fromCharacter(data []byte) []byte {
	for n := 0; n < utf8.UTFMax && n < len(data); n++ {
		if utf8.RuneStart(data[n]) {
			return data[n:]
		}
	}
	return data
}
