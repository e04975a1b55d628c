package cli

import "testing"

func FuzzFnmatch(f *testing.F) {
	f.Add("*.[a-c]?", "日本.ax")
	f.Add("[!", "[!")
	f.Add("**a*b[[:alpha:]", "aab")
	f.Fuzz(func(t *testing.T, pattern, s string) { Fnmatch(pattern, s, true) })
}
