package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/quota"
)

const weightHelp = "from 0 to 10000; what is not a multiple of 0.25 is rounded up to the next"

const weightFields = "input cached output"

var weightKeys = []key{WeightInput, WeightCached, WeightOutput, ModelWeights}

// What a token counts for in quota.tokens.
var (
	WeightInput = Key[Weight]{Name: "quota.weights.input", Decides: whatCosts, Parse: weight,
		Default: constant(Weight(quota.DefaultWeights().Input)),
		Help:    "what a token of input counts for, " + weightHelp}
	WeightCached = Key[Weight]{Name: "quota.weights.cached", Decides: whatCosts, Parse: weight,
		Default: constant(Weight(quota.DefaultWeights().Cached)),
		Help:    "what a token of input counts for that the provider had in its cache, " + weightHelp}
	WeightOutput = Key[Weight]{Name: "quota.weights.output", Decides: whatCosts, Parse: weight,
		Default: constant(Weight(quota.DefaultWeights().Output)),
		Help:    "what a token of output counts for, " + weightHelp}
	ModelWeights = Key[map[string]map[string]Weight]{Name: "quota.model_weights", Decides: whatCosts, Fields: weightFields,
		Parse: modelWeights,
		Help:  "the same for single models, as gpt-4o: {input: 16.75, cached: 8.5, output: 66.75}; each " + weightHelp}
)

// A Weight is what a token counts for, in quarters.
type Weight int64

// String returns it as it is written in the settings.
func (w Weight) String() string { return strconv.FormatFloat(float64(w)/4, 'f', -1, 64) }

func weight(s setting) (Weight, error) {
	f, err := number(s, 0, 10000)
	return Weight(math.Ceil(f * 4)), err // a multiplication that loses nothing
}

func modelWeights(s setting) (map[string]map[string]Weight, error) {
	all := make(map[string]map[string]Weight)
	for _, r := range s.rows {
		all[r.name] = make(map[string]Weight)
		for _, field := range strings.Fields(weightFields) {
			word, ok := r.fields[field]
			if !ok {
				continue
			}
			w, err := weight(setting{words: []string{word}})
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %v", r.name, field, err)
			}
			all[r.name][field] = w
		}
	}
	return all, nil
}

// Weights returns what tokens count for: usually, and for those models that have
// weights of their own, nil if none has. What is not set for a model is as usual.
func (c *Config) Weights() (usual quota.Weights, perModel map[string]quota.Weights) {
	in, cached, out := WeightInput.Of(c).V, WeightCached.Of(c).V, WeightOutput.Of(c).V
	usual = quota.Weights{Input: int64(in), Cached: int64(cached), Output: int64(out)}
	for model, set := range ModelWeights.Of(c).V {
		w := usual
		for field, to := range map[string]*int64{"input": &w.Input, "cached": &w.Cached, "output": &w.Output} {
			if quarters, ok := set[field]; ok {
				*to = int64(quarters)
			}
		}
		if perModel == nil {
			perModel = make(map[string]quota.Weights)
		}
		perModel[model] = w
	}
	return usual, perModel
}
