// Package price is the price list of models. It has a date, and the user may override it with another list.
//
// A model that is not in the list has no known price. That a local model costs nothing is for the caller to know. A
// cost is shown with the date of its price.
package price

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"time"

	"hako/quota"
	"hako/run/fault"
)

// A Table is a price list. The zero Table is empty.
type Table struct {
	AsOf   string // the date of the list, as 2025-08-07
	models map[string]rates
}

// rates are what one model costs.
type rates struct {
	input, cached, output float64 // dollars for a token
	asOf                  string
}

//go:embed prices.json
var list []byte

// Default returns the built-in price list.
func Default() Table {
	t, err := Parse(bytes.NewReader(list))
	if err != nil {
		panic("price: " + err.Error()) // a mistake of ours
	}
	return t
}

// With returns the table overridden by the prices of other, which keep their own dates.
func (t Table) With(other Table) Table {
	both := make(map[string]rates, len(t.models)+len(other.models))
	maps.Copy(both, t.models)
	maps.Copy(both, other.models)
	return Table{AsOf: t.AsOf, models: both}
}

// Cost returns the cost of usage of a model, and the date of the price. A dated model, as gpt-5-2025-08-07, costs what
// the model costs unless it is in the list itself. If ok is false the price is not known, not zero.
func (t Table) Cost(model string, u quota.Usage) (dollars float64, asOf string, ok bool) {
	r, ok := t.models[model]
	if !ok {
		r, ok = t.models[undated(model)]
	}
	if !ok {
		return 0, "", false
	}
	return float64(u.Input)*r.input + float64(u.Cached)*r.cached + float64(u.Output)*r.output, r.asOf, true
}

// undated returns the name of a model without the date of its snapshot.
func undated(model string) string {
	at := len(model) - len("-2025-08-07")
	if at <= 0 || model[at] != '-' || !isDate(model[at+1:]) {
		return model
	}
	return model[:at]
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// largest is the maximal size of a price list.
const largest = 1 << 20

// written is a price list in a file.
type written struct {
	AsOf     string `json:"as_of"`
	Currency string `json:"currency"`
	Per      int64  `json:"per"` // tokens
	Models   map[string]struct {
		Input  *float64 `json:"input"`
		Cached *float64 `json:"cached"`
		Output *float64 `json:"output"`
	} `json:"models"`
}

// Parse parses a price list in the form of prices.json. Currency and per are optional: the defaults are USD and
// 1000000. A model without a price for cached input has the full one. If r has a name, as a file has, errors contain
// it.
func Parse(r io.Reader) (Table, error) {
	t, err := parse(r)
	if f, ok := errors.AsType[*fault.Error](err); ok {
		if named, ok := r.(interface{ Name() string }); ok {
			f.Subject = named.Name()
		}
	}
	return t, err
}

func parse(r io.Reader) (Table, error) {
	text, err := io.ReadAll(io.LimitReader(r, largest+1))
	if err != nil {
		return Table{}, &fault.Error{Op: "read prices", Err: err}
	}
	if len(text) > largest {
		return Table{}, &fault.Error{Kind: fault.TooLarge, Op: "read prices", Why: "the file is larger than 1 MB"}
	}
	w := written{Currency: "USD", Per: 1_000_000}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&w); err != nil {
		return Table{}, misread(plain(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Table{}, misread("there is something after the list")
	}
	return w.table()
}

func misread(why string) error {
	return &fault.Error{Kind: fault.Invalid, Op: "read prices", Why: why,
		Hint: `write it as {"as_of": "2025-08-07", "models": {"gpt-x": {"input": 0.40, "cached": 0.10, "output": 1.60}}}, in USD for a million tokens`}
}

// plain is the text of an error of encoding/json without Go types.
func plain(err error) string {
	t, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok && t.Field == "":
		return "the list is not an object"
	case ok:
		return fmt.Sprintf("%s cannot be a %s", t.Field, t.Value)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the list is truncated"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// table checks the list.
func (w *written) table() (Table, error) {
	switch {
	case !isDate(w.AsOf):
		return Table{}, misread(fmt.Sprintf("as_of is a date such as 2025-08-07, not %q", w.AsOf))
	case w.Currency != "USD":
		return Table{}, misread(fmt.Sprintf("prices are in USD, not %q", w.Currency))
	case w.Per <= 0:
		return Table{}, misread("per is a number of tokens above zero")
	}
	t := Table{AsOf: w.AsOf, models: make(map[string]rates, len(w.Models))}
	for name, m := range w.Models {
		if m.Input == nil || m.Output == nil {
			return Table{}, misread(name + " needs a price for input and one for output")
		}
		if m.Cached == nil {
			m.Cached = m.Input
		}
		if *m.Input < 0 || *m.Cached < 0 || *m.Output < 0 {
			return Table{}, misread(name + " has a price below zero")
		}
		per := float64(w.Per)
		t.models[name] = rates{*m.Input / per, *m.Cached / per, *m.Output / per, w.AsOf}
	}
	return t, nil
}
