package console

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// A chart shows values per day as columns; several series are stacked.
type chart struct {
	Title  string
	Label  string // of the first column of its table
	Days   []string
	Series []series
	Money  bool // dollars; false means counts
}

// A series has one value per day.
type series struct {
	Name   string
	Values []float64
}

// A shape is the path of a series, a single element for all days.
type shape struct{ Class, Path string }

// A column is the area of one day, and its tooltip.
type column struct{ X, Text string }

// The size of the drawing, which is scaled to the page.
const (
	columnWidth = 10.0
	chartHeight = 100.0
)

func (c chart) Width() string { return number(columnWidth * float64(max(len(c.Days), 1))) }

// Total is the sum of all series on a day.
func (c chart) Total(day int) float64 {
	sum := 0.0
	for _, s := range c.Series {
		sum += s.Values[day]
	}
	return sum
}

// Sum is the sum of all days.
func (c chart) Sum() float64 {
	sum := 0.0
	for i := range c.Days {
		sum += c.Total(i)
	}
	return sum
}

// Top is the value at the top of the chart, a round number.
func (c chart) Top() float64 {
	top := 0.0
	for i := range c.Days {
		top = max(top, c.Total(i))
	}
	if c.Money {
		return rounded(top)
	}
	return 2 * math.Ceil(rounded(top)/2) // so that its half is a whole number too
}

// Write formats a value.
func (c chart) Write(v float64) string {
	if c.Money {
		return formatCost(v)
	}
	return formatShort(v)
}

// Marks are the labels of the top and the middle, in the same unit and with the same decimals.
func (c chart) Marks() [2]string {
	switch {
	case c.Money && c.Top() >= 100:
		return alike(c.Top(), "$", 0, "")
	case c.Money:
		return alike(c.Top(), "$", 2, "")
	}
	value, unit := scaled(c.Top())
	return alike(value, "", 0, unit)
}

// alike formats a value and its half.
func alike(top float64, before string, decimals int, after string) (marks [2]string) {
	for decimals < 6 && !fits(top/2, decimals) {
		decimals++
	}
	for i, v := range []float64{top, top / 2} {
		marks[i] = before + strconv.FormatFloat(v, 'f', decimals, 64) + after
	}
	return marks
}

// fits reports whether a value needs no more decimals.
func fits(v float64, decimals int) bool {
	units := v * math.Pow10(decimals)
	return math.Abs(units-math.Round(units)) < 1e-6
}

// rounded returns the next round number that is not less.
func rounded(v float64) float64 {
	if v <= 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 1.5, 2, 3, 4, 5, 6, 8} {
		if v <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}

// Shapes are the stacked series.
func (c chart) Shapes() []shape {
	all, floors := make([]shape, len(c.Series)), make([]float64, len(c.Days))
	for i, s := range c.Series {
		all[i].Class = "s" + strconv.Itoa(i%5)
		for day, v := range s.Values {
			if height := v / c.Top() * chartHeight; height > 0 {
				floors[day] += height
				all[i].Path += bar(float64(day)*columnWidth+1.5, chartHeight-floors[day], columnWidth-3, height)
			}
		}
	}
	return all
}

// bar is the path of a rectangle.
func bar(x, y, width, height float64) string {
	return "M" + number(x) + " " + number(y) + "h" + number(width) + "v" + number(height) + "h" + number(-width) + "z"
}

// Columns are the days that have values.
func (c chart) Columns() []column {
	var all []column
	for day, name := range c.Days {
		text := name
		for _, s := range c.Series {
			if s.Values[day] > 0 {
				text += "\n" + s.Name + ": " + c.Write(s.Values[day])
			}
		}
		if text != name {
			all = append(all, column{X: number(float64(day) * columnWidth), Text: text})
		}
	}
	return all
}

// Ticks are the labels of some days.
func (c chart) Ticks() []string {
	if len(c.Days) < 4 {
		return c.Days
	}
	last := len(c.Days) - 1
	return []string{c.Days[0], c.Days[last/2], c.Days[last]}
}

// number formats a coordinate.
func number(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// share is a percentage, as a width.
func share(part, whole int64) string {
	if whole <= 0 {
		return "0"
	}
	return number(100 * float64(min(max(part, 0), whole)) / float64(whole))
}

// A line is one value of a sandbox over time.
type line struct {
	Name, Value string
	Points      []float64 // of Top
	Top         float64
}

// Path is the path of the line, the newest value at the right end.
func (l line) Path() string {
	var b strings.Builder
	for i, v := range l.Points {
		x := historyLength - len(l.Points) + i
		b.WriteString(number(float64(x)) + "," + number(l.height(v)) + " ")
	}
	return strings.TrimSpace(b.String())
}

// Area is the area below the line.
func (l line) Area() string {
	if len(l.Points) == 0 {
		return ""
	}
	first := number(float64(historyLength - len(l.Points)))
	return first + ",100 " + l.Path() + " " + number(historyLength-1) + ",100"
}

func (l line) height(v float64) float64 {
	if l.Top <= 0 {
		return 100
	}
	return 98 - 96*min(max(v/l.Top, 0), 1) // leaves room for the stroke
}

// shortDay omits the year.
func shortDay(day string) string {
	if t, err := time.Parse(time.DateOnly, day); err == nil {
		return t.Format("01-02")
	}
	return day
}
