package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

func (b *bench) render() string {
	p := &page{}
	p.line("# Scale: what hako itself takes")
	p.line("Written by `make bench-scale`, which takes 15 to 30 minutes. Real: producer, queue, workers, coordinator, the client of GitHub, the record. Played: GitHub over HTTP on the loopback interface, in a process of its own; the model and the containers, which only take time. So the figures leave out what Docker, git and the model take; `bench/CONTAINERS.md` has those of containers.")
	p.line("The typical task: %d turns of the model (plan, %d turns with %d calls that print 3 KB or change a file, a reflection, the last words), two comments of people meanwhile, one pull request. %d people open issues in turn.", turns, callTurns, actions, people)
	p.line("Machine: %s Others used it at the same time; how busy it was when a step began is said there (the load of the last minute, of which %d would be all cores).", b.machine, b.machine.cores)
	b.renderTurns(p)
	b.renderQueue(p)
	b.renderPolls(p)
	if b.day != nil {
		b.day.render(p, b.loads["day"])
		b.day.renderTask(p)
		b.day.renderAsked(p)
		b.day.renderComputed(p)
	}
	return strings.TrimRight(p.String(), "\n") + "\n"
}

// A page is the report under construction.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n\n", args...)
}

func (p *page) table(head string, rows ...[]string) {
	fmt.Fprintf(p, "| %s |\n|%s\n", strings.ReplaceAll(head, "|", " | "),
		strings.Repeat("---|", strings.Count(head, "|")+1))
	for _, r := range rows {
		fmt.Fprintf(p, "| %s |\n", strings.Join(r, " | "))
	}
	p.WriteString("\n")
}

func (b *bench) renderTurns(p *page) {
	if b.turns == nil {
		return
	}
	p.line("## Between two turns of the model")
	p.line("From the model's answer to the next question, without the time of the tools: the journal twice, people's comments, orders, the account, the record. Two tasks at a time; %d tasks, measured %d times; the middle run counts. Load when it began: %s. The first time between turns of each task is another thing: in it the plan is told and the container made. Beside: the time until the forge had answered, here without a network.", b.turns[0].tasks, len(b.turns[0].runs), b.loads["turns"])
	var rows [][]string
	for _, r := range b.turns {
		own, first := sorted(pick(r.run(), ownOf)), sorted(pick(r.run(), firstOf))
		rows = append(rows, []string{r.name, ms(at(own, 50)), ms(at(own, 99)), "5 ms",
			yesNo(at(own, 50) < 5*time.Millisecond) + " / " + yesNo(at(own, 99) < 5*time.Millisecond), r.all(),
			ms(at(first, 50)), ms(at(sorted(pick(r.run(), forgeOf)), 50))})
	}
	p.table("queue|p50|p99|less than|kept (p50 / p99)|p50 / p99 of each run|the first, p50|forge, p50", rows...)
}

// run is the median one by its p50.
func (r turnsResult) run() []gap {
	runs := slices.SortedFunc(slices.Values(r.runs), func(a, b []gap) int {
		return int(at(sorted(pick(a, ownOf)), 50) - at(sorted(pick(b, ownOf)), 50))
	})
	return runs[len(runs)/2]
}

func ownOf(g gap) (time.Duration, bool)   { return g.Own, !g.First }
func firstOf(g gap) (time.Duration, bool) { return g.Own, g.First }
func forgeOf(g gap) (time.Duration, bool) { return g.Forge, !g.First }

func (r turnsResult) all() string {
	var list []string
	for _, run := range r.runs {
		own := sorted(pick(run, ownOf))
		list = append(list, ms(at(own, 50))+" / "+ms(at(own, 99)))
	}
	return strings.Join(list, ", ")
}

func (b *bench) renderQueue(p *page) {
	if b.queue == nil {
		return
	}
	p.line("## The queue alone")
	p.line("Put, Take, Done; 8 put while 16 take. The embedded server flushes to the disk each second. Load when it began: %s.", b.loads["queue"])
	var rows, charges [][]string
	for i, r := range b.queue {
		rates := slices.Sorted(slices.Values(r.Rates))
		middle, least, ok := rates[len(rates)/2], "–", "–"
		if i == 0 {
			least, ok = "5 000/s or more", yesNo(middle >= 5000)
		}
		rows = append(rows, []string{r.name, fmt.Sprint(r.tasks), fmt.Sprintf("%.0f/s", middle), least, ok,
			fmt.Sprintf("%.0f", rates)})
		charges = append(charges, []string{r.name, ms(r.Saves["4 KB"]), ms(r.Saves["40 KB"]), ms(r.Accounts["shelf 100"]),
			ms(r.Accounts["shelf 1000"])})
	}
	p.table("queue|tasks|middle run|at least|kept|all runs", rows...)
	p.line("What a turn consists of, p50, one after the other: two steps of the journal, which are beside their record from 8 KB on, and one charge to the account of whoever wrote the issue, which holds the tasks of the last day. Without `queue.url` the account is a file.")
	charges = append(charges, []string{"a file", "–", "–", ms(b.queue[0].Accounts["file 100"]),
		ms(b.queue[0].Accounts["file 1000"])})
	p.table("kept in|step of 4 KB|step of 40 KB|charge, 100 tasks of that person|charge, 1 000 tasks", charges...)
}

func (b *bench) renderPolls(p *page) {
	if b.polls == nil {
		return
	}
	p.line("## The producer, with %d open issues", b.polls[0].New)
	p.line("Load when it began: %s.", b.loads["poll"])
	var rows [][]string
	for i, poll := range b.polls {
		name := "the next, unchanged"
		if i == 0 {
			name = "first poll, everything is queued"
		}
		rows = append(rows, []string{name, fmt.Sprint(poll.New), poll.Took.Round(time.Millisecond).String(),
			fmt.Sprint(poll.Asked.sum()), fmt.Sprint(poll.Asked.sum(" 304 ")), "5 s, 110 requests",
			yesNo(poll.Took <= 5*time.Second && poll.Asked.sum() <= 110)})
	}
	p.table("poll|queued|time|requests|of them 304|at most|kept", rows...)
}

func (r *dayResult) render(p *page, load string) {
	waits, took := r.endings()
	waits, took = sorted(waits), sorted(took)
	p.line("## At the rate of 100 000 tasks a day (measured)")
	p.line("%.2f issues come in a second, at random moments. %s: the model takes %v for an answer, a command %v, the container %v, keeping the work %v, each half to one and a half of it. One producer that polls each %v, %d workers with `agent.parallel: %d`, three NATS servers with `queue.replicas: 3`, the forge: all processes of this one machine. %v to warm up, then %v that are measured; %d tasks in all, each ended once and as done. Load when it began: %s.",
		r.rate, map[bool]string{true: "Nothing is shortened",
			false: "Times are a twentieth of what they are"}[r.pace == realPace], r.pace.Model, r.pace.Command, r.pace.Prepare,
		r.pace.Keep, r.every, r.workers, r.parallel, r.warm, r.window, r.tasks, load)
	own := sorted(pick(r.gaps(), ownOf))
	gaps, moments := r.stalls()
	producer, workers, nats := r.cores("producer"), r.cores("worker"), r.cores("nats")
	p.table("in the window|measured",
		[]string{"tasks that ended", fmt.Sprintf("%d (%.2f/s)", len(took), float64(len(took))/r.window.Seconds())},
		[]string{"tasks at the same time, mean", fmt.Sprintf("%.0f", r.running())},
		[]string{"a task takes, p50 / p99", fmt.Sprintf("%v / %v", at(took, 50).Round(time.Second),
			at(took, 99).Round(time.Second))},
		[]string{"waits in the queue, p50 / p99 (before: up to one poll)", ms(at(waits, 50)) + " / " + ms(at(waits, 99))},
		[]string{"between two turns, p50 / p99", ms(at(own, 50)) + " / " + ms(at(own, 99))},
		[]string{"of these longer than a second", fmt.Sprintf("%d of %d, which ended in %d different seconds", gaps, len(own),
			moments)},
		[]string{"processor, in cores: producer, workers, NATS servers", fmt.Sprintf("%.2f, %.2f, %.2f", producer, workers,
			nats)},
		[]string{"resident memory: producer, workers together, NATS servers together",
			fmt.Sprintf("%s, %s, %s", mb(r.resident("producer")), mb(r.resident("worker")), mb(r.resident("nats")))},
		[]string{"the same before the first task", fmt.Sprintf("%s, %s, %s",
			mb(float64(r.idle.sum("producer", residentMemory))), mb(float64(r.idle.sum("worker", residentMemory))),
			mb(float64(r.idle.sum("nats", residentMemory))))},
		[]string{"requests to the forge in an hour, that count / 304",
			fmt.Sprintf("%.0f / %.0f", r.hourly(r.asked.sum()-r.asked.sum(" 304 ")), r.hourly(r.asked.sum(" 304 ")))},
	)
}

// hourly is a number per hour at this rate.
func (r *dayResult) hourly(n int) float64 { return float64(n) / float64(r.tasks) * r.rate * 3600 }

func (r *dayResult) perTask(n int64) float64 { return float64(n) / float64(r.tasks) }

// grown is the memory of a running task.
func (r *dayResult) grown() float64 {
	return (r.resident("worker") - float64(r.idle.sum("worker", residentMemory))) / r.running()
}

func (r *dayResult) renderTask(p *page) {
	p.line("## One task (from the same run, all %d tasks)", r.tasks)
	p.table("for one task|measured",
		[]string{"requests to the forge that count", fmt.Sprintf("%.1f", r.counting())},
		[]string{"requests answered with 304, which GitHub does not count",
			fmt.Sprintf("%.1f", r.perTask(int64(r.asked.sum(" 304 "))))},
		[]string{"of those that count: GET, POST, PATCH, PUT, DELETE", r.methods()},
		[]string{"messages to NATS from hako", fmt.Sprintf("%.0f", r.perTask(r.traffic.Messages))},
		[]string{"bytes to NATS from hako", kb(r.perTask(r.traffic.Bytes))},
		[]string{"bytes between the three servers", kb(r.perTask(r.traffic.Between))},
		[]string{"bytes kept in the queue after the end, one copy", kb(r.perTask(r.storedInAll()))},
		[]string{"of these, by stream", r.streams()},
		[]string{"bytes on the machine of the worker: record, context of the task",
			kb(r.perTask(r.total(func(c agentReport) int64 { return c.Record }))) + ", " +
				kb(r.perTask(r.total(func(c agentReport) int64 { return c.Contexts })))},
		[]string{"processor time of hako (producer and workers)", seconds(r.usedBy("worker") + r.usedBy("producer"))},
		[]string{"processor time of the NATS servers together", seconds(r.usedBy("nats"))},
		[]string{"memory allocated by hako, in all",
			mb(r.perTask(r.total(func(c agentReport) int64 { return int64(c.Allocated) })))},
		[]string{"resident memory of a worker for each task at the same time", mb(r.grown())},
	)
}

// counting is how many requests of a task GitHub counts, without the polls.
func (r *dayResult) counting() float64 {
	return r.perTask(int64(r.asked.sum() - r.asked.sum(" 304 ") - r.asked.sum("?labels") + r.asked.sum(" 304 ",
		"?labels")))
}

// streams says where the queue stores a task.
func (r *dayResult) streams() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.stored)) {
		list = append(list, name+" "+kb(r.perTask(r.stored[name])))
	}
	return strings.Join(list, ", ")
}

func (r *dayResult) methods() string {
	var list []string
	for _, m := range []string{"GET", "POST", "PATCH", "PUT", "DELETE"} {
		n := r.asked.sum(m+" ") - r.asked.sum(m+" 304 ") - r.asked.sum(m+" ", "?labels") + r.asked.sum(m+" 304 ", "?labels")
		list = append(list, fmt.Sprintf("%.1f", r.perTask(int64(n))))
	}
	return strings.Join(list, ", ")
}

func (r *dayResult) renderAsked(p *page) {
	p.line("Requests to the forge, for one task (those of less than 0.05 are left out):")
	var rows [][]string
	for _, name := range slices.SortedFunc(maps.Keys(r.asked), func(a, b string) int { return r.asked[b] - r.asked[a] }) {
		if n := r.perTask(int64(r.asked[name])); n >= 0.05 {
			rows = append(rows, []string{"`" + name + "`", fmt.Sprintf("%.2f", n)})
		}
	}
	p.table("request|for one task", rows...)
}

// githubHour is GitHub's limit of requests per token and hour.
const githubHour = 5000

func (r *dayResult) renderComputed(p *page) {
	p.line("## 10, 1 000 and 100 000 a day (computed from the above)")
	p.line("requests that count = tasks × %.1f; tokens = requests in an hour ÷ %d, GitHub's published limit, rounded up; tasks at the same time = tasks ÷ 86 400 s × %v; processor = tasks × time of one ÷ 86 400 s; queue = tasks × 30 days × bytes kept × 3 copies. Evenly over the day: for a working day of eight hours take three times as much of everything but the disk.", r.counting(), githubHour, r.typical())
	var rows [][]string
	for _, n := range []float64{10, 1000, 100_000} {
		hour := n / 24 * r.counting()
		rows = append(rows, []string{fmt.Sprintf("%.0f", n), fmt.Sprintf("%.0f", hour),
			fmt.Sprintf("%d", int((hour+githubHour-1)/githubHour)), fmt.Sprintf("%.2f", n/day*r.typical().Seconds()),
			fmt.Sprintf("%.4f", n/day*(r.usedBy("worker")+r.usedBy("producer")).Seconds()),
			fmt.Sprintf("%.4f", n/day*r.usedBy("nats").Seconds()), mb(n * 30 * 3 * r.perTask(r.storedInAll()))})
	}
	p.table("tasks a day|requests in an hour|tokens|tasks at the same time|cores for hako|cores for three NATS servers|queue on disk", rows...)
}

func (r *dayResult) typical() time.Duration {
	_, took := r.endings()
	return at(sorted(took), 50).Round(time.Second)
}

func pick(gaps []gap, of func(gap) (time.Duration, bool)) (list []time.Duration) {
	for _, g := range gaps {
		if d, ok := of(g); ok {
			list = append(list, d)
		}
	}
	return list
}

func sorted(list []time.Duration) []time.Duration { return slices.Sorted(slices.Values(list)) }

// at is a percentile of a sorted list; zero of an empty one.
func at(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "**no**"
}

func ms(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.2f ms", d.Seconds()*1000)
	}
	return fmt.Sprintf("%.0f ms", d.Seconds()*1000)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f s", d.Seconds()) }
func mb(bytes float64) string        { return fmt.Sprintf("%.1f MB", bytes/(1<<20)) }
func kb(bytes float64) string        { return fmt.Sprintf("%.1f KB", bytes/(1<<10)) }
