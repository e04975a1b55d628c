// Package cli has the helpers that commands of several families share: binding options to
// variables, opening operands, reading lines, parsing numbers, quoting names.
package cli
