// Package number has the commands that calculate: bc, dc, expr, seq, factor.
package number
