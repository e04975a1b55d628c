package health

import (
	"cmp"
	"context"

	"hako/internal/promtext"
)

// A source is a figure that is asked for whenever the page is looked at.
type source struct {
	name   string // as hako_scrape_failures_total has it
	figure *promtext.Family
	ask    *question[map[string]int] // by label; the empty label is for a figure without any
	labels *words                    // nil: the figure has no label
	missed *promtext.Family
	tell   func(error) // of every answer
}

// A Figure is asked for whenever somebody looks, as those of [Sources] are.
type Figure struct {
	Name  string // as Prometheus wants it, such as hako_sandboxes
	About string
	Label string // what Ask counts by; empty means that there is one number, under the key ""
	Ask   func(context.Context) (map[string]int, error)

	short string // what it is called where it is missing; empty means Name
}

// Show adds a figure to the page.
func (m *Metrics) Show(f Figure) {
	name := cmp.Or(f.short, f.Name)
	s := &source{name: name, ask: newQuestion(questionTime, f.Ask), missed: m.missed,
		tell: onChange(m.log, name+" cannot be counted", name+" can be counted again")}
	if f.Label == "" {
		s.figure = m.book.Gauge(f.Name, f.About)
	} else {
		s.figure, s.labels = m.book.Gauge(f.Name, f.About, f.Label), &words{most: 20}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sources = append(m.sources, s)
}

func queueFigure(from Sources) Figure {
	return Figure{Name: "hako_queue_tasks", About: "Tasks in the queue, by state.", Label: "state", Ask: from.Queue,
		short: "queue"}
}

func containersFigure(from Sources) Figure {
	return Figure{Name: "hako_containers", About: "Containers that run for tasks.", short: "containers",
		Ask: func(ctx context.Context) (map[string]int, error) {
			n, err := from.Containers(ctx)
			return map[string]int{"": n}, err
		}}
}

// look asks. Without an answer the figure is missing from the page, which is
// better than an old one that looks new.
func (s *source) look(ctx context.Context) {
	figures, err := s.ask.answer(ctx)
	if ctx.Err() != nil {
		return // nobody looks any more
	}
	s.tell(err)
	if err != nil {
		s.missed.Add(1, s.name)
		s.figure.Replace(nil)
		return
	}
	s.figure.Replace(s.sums(figures))
}

// sums adds up what shares a label: several words may be "other".
func (s *source) sums(figures map[string]int) map[string]float64 {
	if s.labels == nil {
		return map[string]float64{"": float64(figures[""])}
	}
	sums := map[string]float64{}
	for word, n := range figures {
		sums[s.labels.label(word)] += float64(n)
	}
	return sums
}
