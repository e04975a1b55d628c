// Package jq implements the language jq: [Run.Compile] turns the text of a program
// into a [Filter], and [Run.Evaluate] runs it on a value. Every step, nested call
// and value counts against the limits of a [quota.Limiter], so that a hostile program
// ends instead of exhausting the process. The syntax is parsed by gojq.
package jq
