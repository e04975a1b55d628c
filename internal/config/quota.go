package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"hako/quota"
)

// Limits returns base with the limits that were set.
func (c *Config) Limits(base quota.ScriptLimits) quota.ScriptLimits {
	for _, name := range quota.ScriptLimitNames {
		if s, ok := c.set["limits."+name]; ok {
			base.Set(name, s.words[0]) // checked when it was set
		}
	}
	return base
}

// Budget returns base with the quotas that were set.
func (c *Config) Budget(base quota.Limits) quota.Limits {
	for _, name := range quota.LimitNames {
		if s, ok := c.set["quota."+name]; ok {
			base.Set(name, s.words[0]) // checked when it was set
		}
	}
	return base
}

// TotalTokens returns what all runs together may use; [quota.NoLimit] if nothing was set.
func (c *Config) TotalTokens() int64 {
	b := quota.Limits{Tokens: quota.NoLimit}
	b.Set("tokens", quotaTotal.Of(c).V) // checked when it was set
	return b.Tokens
}

const weightFields = "input cached output"

// A tokenWeight is what a token counts for, in quarters.
type tokenWeight int64

// String returns it as it is written in the settings.
func (w tokenWeight) String() string { return strconv.FormatFloat(float64(w)/4, 'f', -1, 64) }

func weight(s setting) (tokenWeight, error) {
	f, err := floatBetween(0, 10000)(s)
	return tokenWeight(math.Ceil(f * 4)), err // a multiplication that loses nothing
}

func modelWeights(s setting) (map[string]map[string]tokenWeight, error) {
	all := make(map[string]map[string]tokenWeight)
	for _, r := range s.rows {
		all[r.name] = make(map[string]tokenWeight)
		for field := range strings.FieldsSeq(weightFields) {
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

// Weights returns the default weights of tokens, and those of single models, nil if none is set. A weight that is
// not set for a model has the default.
func (c *Config) Weights() (all quota.Weights, perModel map[string]quota.Weights) {
	in, cached, out := weightInput.Of(c).V, weightCached.Of(c).V, weightOutput.Of(c).V
	all = quota.Weights{Input: int64(in), Cached: int64(cached), Output: int64(out)}
	for model, set := range weightsByModel.Of(c).V {
		w := all
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
	return all, perModel
}
