// Package cli is what commands of several families share: options, operands,
// lines of text, quoting, and messages in the form of the GNU tools.
package cli
