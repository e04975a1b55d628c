package main

import (
	"hako/internal/config"
	"hako/llm/replay"
	"hako/quota"
)

// usageOf is what hako quota shows and resets.
func usageOf(conf *config.Config) quota.UsageFile {
	return quota.UsageFile{Path: conf.StateFile("usage.json")}
}

// totalOf is what all runs together may use; nil if nothing was set.
func totalOf(conf *config.Config) *quota.SharedBudget {
	tokens := conf.TotalTokens()
	if tokens == quota.NoLimit {
		return nil
	}
	return &quota.SharedBudget{UsageFile: usageOf(conf), Tokens: tokens, Weights: weights(conf)}
}

// ahead tells what a model will use before it is asked, if it can: turns from a
// file have it written beside them, and the built-in rules use nothing.
func (c chosen) ahead() func() quota.Usage {
	if s, ok := c.model.(*replay.Script); ok {
		return s.Ahead
	}
	if c.provider == "builtin" {
		return func() quota.Usage { return quota.Usage{} }
	}
	return nil
}
