package fault

import "unicode/utf8"

// Nearest finds the name among the given ones that word was most likely meant to be.
// It answers false when nothing is close enough for a hint to help: more than about a third of the letters differ.
func Nearest(word string, among []string) (string, bool) {
	letters := []rune(word)
	if len(letters) > longestGuess {
		return "", false
	}
	best, found := allowedEdits(len(letters))+1, ""
	for _, name := range among {
		if name == word {
			return name, true
		}
		if utf8.RuneCountInString(name) > longestGuess {
			continue
		}
		if d := edits(letters, []rune(name)); d < best && d < len(letters) {
			best, found = d, name
		}
	}
	return found, found != ""
}

// longestGuess keeps the quadratic comparison small: nobody mistypes a name longer than this.
const longestGuess = 64

func allowedEdits(letters int) int {
	return max(1, letters/3)
}

// edits counts insertions, deletions, replacements and swaps of neighbours that turn a into b.
func edits(a, b []rune) int {
	before, above, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(above[j]+1, row[j-1]+1, above[j-1]+differ(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, above, row = above, row, before
	}
	return above[len(b)]
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
