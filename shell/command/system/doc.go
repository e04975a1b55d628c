// Package system has the commands about the session and its surroundings: date,
// env, help, and those that run other commands, such as xargs and timeout.
package system
