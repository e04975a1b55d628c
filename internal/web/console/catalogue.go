package console

import (
	"embed"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

//go:embed words
var wordFiles embed.FS

// A catalogue holds the texts of one language by key.
type catalogue map[string]string

// languages are those with a catalogue, the usual one first.
var languages = []string{"en", "ja"}

func catalogues() map[string]catalogue {
	all := map[string]catalogue{}
	for _, lang := range languages {
		all[lang] = readCatalogue(lang)
	}
	return all
}

// reasons are those of the built-in rules, as they are said in other languages.
func reasons() map[string]catalogue {
	return map[string]catalogue{"ja": readCatalogue("reasons.ja")}
}

func readCatalogue(name string) (c catalogue) {
	data, err := wordFiles.ReadFile("words/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	if err != nil {
		panic("words of " + name + ": " + err.Error()) // they are part of the program
	}
	return c
}

// Reason returns why a rule says what it does in the reader's language, if the
// rule is a built-in one.
func (p *page) Reason(text string) string {
	if known, ok := p.reasons[text]; ok {
		return known
	}
	return visible(text)
}

// T returns a text, with {0}, {1}… replaced. A text that is missing shows as
// its key.
func (p *page) T(key string, args ...string) string {
	text, ok := p.words[key]
	if !ok {
		return key
	}
	for i, arg := range args {
		text = strings.ReplaceAll(text, "{"+strconv.Itoa(i)+"}", arg)
	}
	return text
}

// Named returns what a value is called in the reader's language, or the value
// itself if it is not one that we know.
func (p *page) Named(group, value string) string {
	if text, ok := p.words[group+"."+value]; ok {
		return text
	}
	return visible(value)
}

// spoken chooses the language of a reader: the one picked with the switch, or
// else what the browser asks for.
func spoken(r *http.Request) string {
	if c, err := r.Cookie(langCookie); err == nil && slices.Contains(languages, c.Value) {
		return c.Value
	}
	return wanted(r.Header.Get("Accept-Language"))
}

// wanted is the one of our languages that a browser likes best.
func wanted(header string) string {
	best, weight := languages[0], 0.0
	for one := range strings.SplitSeq(header, ",") {
		tag, q, _ := strings.Cut(strings.TrimSpace(one), ";")
		base, _, _ := strings.Cut(strings.ToLower(tag), "-")
		likes := 1.0
		if number, ok := strings.CutPrefix(strings.TrimSpace(q), "q="); ok {
			likes, _ = strconv.ParseFloat(number, 64)
		}
		if slices.Contains(languages, base) && likes > weight {
			best, weight = base, likes
		}
	}
	return best
}
