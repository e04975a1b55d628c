package secretary

import (
	"embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// texts are the prompts by language; words.*.md holds the single sentences.
//
//go:embed *.md
var texts embed.FS

func (s *Secretary) promptText(name string) string {
	text, err := texts.ReadFile(name + "." + s.lang() + ".md")
	if err != nil {
		panic(err) // it is part of the program
	}
	return string(text)
}

func (s *Secretary) lang() string {
	if s.Lang == "en" {
		return "en"
	}
	return "ja"
}

// message returns a sentence of words.*.md by name.
func (s *Secretary) message(name string) string {
	for line := range strings.Lines(s.promptText("words")) {
		if text, ok := strings.CutPrefix(line, name+": "); ok {
			return strings.TrimSuffix(text, "\n")
		}
	}
	panic("there is no word " + name)
}

// countMessage returns a sentence with n filled in.
func (s *Secretary) countMessage(name string, n int) string {
	return strings.ReplaceAll(s.message(name), "{n}", fmt.Sprint(n))
}

// Prompt returns the system prompt. It is constant for a day, so that providers can cache it.
func (s *Secretary) Prompt() string {
	parts := []string{fill(s.promptText("prompt"), "{date}", s.now().Format("2006-01-02"))}
	if s.Name != "" {
		parts[0] = s.nameSentence() + parts[0]
	}
	if s.Runner != nil {
		parts = append(parts, fill(s.promptText("bash"), "{commands}", strings.TrimSpace(s.Commands), "{timeout}",
			fmt.Sprint(int(s.timeout().Seconds())),
			"{actions}", fmt.Sprint(s.maxActions())))
	}
	if s.Todos != nil {
		parts = append(parts, s.promptText("todo"))
	}
	if usage := s.usage(); usage != "" {
		parts = append(parts, s.promptText("plugin")+usage)
	}
	if s.Extra != "" {
		parts = append(parts, s.Extra)
	}
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return strings.Join(parts, "\n\n")
}

func (s *Secretary) nameSentence() string {
	if s.lang() == "en" {
		return "Your name is " + s.Name + ". "
	}
	return "あなたの名前は" + s.Name + "です。"
}

// fill replaces all placeholders in one pass, so that a value is never taken for a placeholder.
func fill(text string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(text) }

// usage lists the @commands.
func (s *Secretary) usage() string {
	var b strings.Builder
	all := s.plugins()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "- %s\n", all[name].Usage)
	}
	return b.String()
}
