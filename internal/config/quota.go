package config

import (
	"strings"

	"hako/quota"
)

// limitKeys has one setting for each limit of a script.
func limitKeys() (keys []key) {
	for _, name := range quota.ScriptLimitNames {
		keys = append(keys, Key[string]{
			Name: "limits." + name, Env: "HAKO_LIMIT_" + strings.ToUpper(name), Local: harmless,
			Help: "what one script may use; sizes are written 10MB, times 30s, counts 1000",
			Parse: func(s setting) (string, error) {
				return s.words[0], new(quota.ScriptLimits).Set(name, s.words[0])
			},
		})
	}
	return keys
}

// ScriptLimits returns base with the limits that were set.
func (c *Config) Limits(base quota.ScriptLimits) quota.ScriptLimits {
	for _, name := range quota.ScriptLimitNames {
		if s, ok := c.set["limits."+name]; ok {
			base.Set(name, s.words[0]) // checked when it was set
		}
	}
	return base
}

// quotaKeys has one setting for each limit of a whole task, and what tokens count
// for in it.
func quotaKeys() (keys []key) {
	for _, name := range quota.LimitNames {
		keys = append(keys, Key[string]{
			Name: "quota." + name, Env: "HAKO_QUOTA_" + strings.ToUpper(name), Decides: whatCosts,
			Help: "what a task may use in all; sizes are written 10MB, times 30m, counts 1000, none means no limit",
			Parse: func(s setting) (string, error) {
				return s.words[0], new(quota.Limits).Set(name, s.words[0])
			},
		})
	}
	return append(append(keys, QuotaTotal), weightKeys...)
}

// QuotaTotal is what all runs together may use.
var QuotaTotal = Key[string]{
	Name: "quota.total_tokens", Env: "HAKO_QUOTA_TOTAL_TOKENS", Default: constant("none"), Decides: whatCosts,
	Help: "weighted tokens that all runs together may use until hako quota reset, or none",
	Parse: func(s setting) (string, error) {
		return s.words[0], new(quota.Limits).Set("tokens", s.words[0])
	},
}

// TotalTokens returns what all runs together may use; [quota.NoLimit] if nothing
// was set.
func (c *Config) TotalTokens() int64 {
	b := quota.Limits{Tokens: quota.NoLimit}
	b.Set("tokens", QuotaTotal.Of(c).V) // checked when it was set
	return b.Tokens
}

// Limits returns base with the quotas that were set.
func (c *Config) Budget(base quota.Limits) quota.Limits {
	for _, name := range quota.LimitNames {
		if s, ok := c.set["quota."+name]; ok {
			base.Set(name, s.words[0]) // checked when it was set
		}
	}
	return base
}
