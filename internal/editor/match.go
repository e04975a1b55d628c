package editor

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"hako/run/fault"
)

// maxMatches is how many matches are listed.
const maxMatches = 20

// maxMatchLine is how many bytes of its line are shown for a match.
const maxMatchLine = 120

// choose returns the offset of the match that is meant.
func (e *Editor) choose(c *Call, p filePath, d *document, old string) (int, error) {
	all := matches(d.text, []byte(old))
	switch {
	case len(all) == 0:
		return 0, c.verbatimError(fault.Invalid, "view the file and copy the text exactly, with its tabs and blanks",
			"No replacement was performed, old_str `%s` did not appear verbatim in %s.", quote(*c.OldStr), c.displayPath())
	case c.Match != nil && *c.Match != 0:
		return c.matchNumber(all)
	case len(all) == 1:
		return all[0], nil
	}
	// The numbers of the matches are only valid for this content.
	e.memory.setSeen(p.rel, d.sum, d.set)
	return 0, c.ambiguousError(d, all, old)
}

// matches returns the offsets of at most mostMatches+1 matches, which may overlap.
func matches(text, old []byte) (all []int) {
	for at := 0; len(all) <= maxMatches; at = all[len(all)-1] + 1 {
		n := bytes.Index(text[at:], old)
		if n < 0 {
			return all
		}
		all = append(all, at+n)
	}
	return all
}

func (c *Call) matchNumber(all []int) (int, error) {
	n := min(len(all), maxMatches)
	if *c.Match < 1 || *c.Match > n {
		return 0, c.refuse(fault.Invalid, fmt.Sprintf("there is no match %d", *c.Match),
			fmt.Sprintf("choose one from 1 to %d", n))
	}
	return all[*c.Match-1], nil
}

// ambiguousError reports that a text occurs more than once, and where.
func (c *Call) ambiguousError(d *document, all []int, old string) error {
	var places []string
	var list strings.Builder
	for i, at := range all[:min(len(all), maxMatches)] {
		first, last := d.line(at), d.line(at+len(old)-1)
		place, word := strconv.Itoa(first), "line "
		if last > first {
			place, word = fmt.Sprintf("%d-%d", first, last), "lines "
		}
		if len(places) == 0 || places[len(places)-1] != place {
			places = append(places, place)
		}
		fmt.Fprintf(&list, "\nmatch %d: %s%s: %s", i+1, word, place, d.excerpt(at))
	}
	if len(all) > maxMatches {
		places = append(places, "…")
		fmt.Fprintf(&list, "\nThere are more; these are the first %d.", maxMatches)
	}
	return c.verbatimError(fault.Invalid, "",
		"No replacement was performed. Multiple occurrences of old_str `%s` in lines [%s]. Please ensure it is unique%s\n"+
			"Give more of the text around it, or \"match\": N for one of these.", quote(*c.OldStr), strings.Join(places, ", "),
		list.String())
}

// excerpt returns the beginning of the line of an offset.
func (d *document) excerpt(offset int) string {
	text := d.text[1+bytes.LastIndexByte(d.text[:offset], '\n'):]
	if n := bytes.IndexByte(text, '\n'); n >= 0 {
		text = text[:n]
	}
	return shorten(bytes.TrimSuffix(text, []byte("\r")), maxMatchLine, "…")
}
