// Package text has the commands that read lines and print lines: grep, sed, awk,
// sort, diff and the like.
package text
