// Package text implements the commands that process lines of text: grep, sed, awk, sort,
// diff and others.
package text
