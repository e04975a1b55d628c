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

// languages are those with a catalogue, the default first.
var languages = []string{"en", "ja"}

func catalogues() map[string]catalogue {
	all := map[string]catalogue{}
	for _, lang := range languages {
		all[lang] = readCatalogue(lang)
	}
	return all
}

// reasons are translations of the reasons of the built-in rules.
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

// Reason returns the reason of a rule, translated if the rule is built in.
func (p *page) Reason(text string) string {
	if known, ok := p.reasons[text]; ok {
		return known
	}
	return visible(text)
}

// T returns a text with {0}, {1}… replaced. A missing text shows as its key.
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

// Named returns the translated name of a value, or the value itself if there is none.
func (p *page) Named(group, value string) string {
	if text, ok := p.words[group+"."+value]; ok {
		return text
	}
	return visible(value)
}

// languageOf returns the language of the cookie, or else of the Accept-Language header.
func languageOf(r *http.Request) string {
	if c, err := r.Cookie(langCookie); err == nil && slices.Contains(languages, c.Value) {
		return c.Value
	}
	return preferredLanguage(r.Header.Get("Accept-Language"))
}

// preferredLanguage returns the supported language with the highest weight in an Accept-Language header.
func preferredLanguage(header string) string {
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
