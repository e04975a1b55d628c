package store

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"hako/internal/text"
	"hako/run/fault"
)

// A Hit is a search result.
type Hit struct {
	Session int64     `json:"session"`
	Name    string    `json:"name,omitempty"` // of the session
	Message int64     `json:"message"`
	Role    string    `json:"role"`
	Time    time.Time `json:"time"`
	Snippet string    `json:"snippet"` // the text around the match, on one line
}

// Line formats a hit for a terminal.
func (h Hit) Line() string {
	name := cmp.Or(h.Name, strconv.FormatInt(h.Session, 10))
	said := text.Visible(strings.Join(strings.Fields(h.Snippet), " "))
	return fmt.Sprintf("%s  %s  %s: %s", h.Time.Local().Format("2006-01-02 15:04"), text.Visible(name), h.Role, said)
}

const (
	maxQuery       = 1000 // bytes
	defaultHits    = 20
	maxHits        = 1000
	minIndexedWord = 3  // characters of the shortest word in the index
	snippetRadius  = 40 // characters of a snippet on each side
)

// Search finds the messages of all conversations that contain every word of the query, latest first. Query
// characters have no special meaning. A limit of zero means 20.
func (s *Store) Search(query string, limit int) ([]Hit, error) {
	words, err := queryWords(query)
	if err != nil {
		return nil, err
	}
	if limit <= 0 {
		limit = defaultHits
	}
	where, args := condition(words)
	rows, err := s.reads.Query(`select m.session, coalesce(s.name, ''), m.id, m.role, m.time, m.text
		from message m join session s on s.id = m.session where `+where+` order by m.id desc limit ?`, append(args, min(limit, maxHits))...)
	return collect(s, rows, err, func(row interface{ Scan(...any) error }) (h Hit, err error) {
		var at int64
		var text string
		err = row.Scan(&h.Session, &h.Name, &h.Message, &h.Role, &at, &text)
		h.Time, h.Snippet = fromMicros(at), snippet(text, words)
		return h, err
	})
}

func queryWords(query string) ([]string, error) {
	e := &fault.Error{Kind: fault.Invalid, Op: "search", Hint: "give a few words of what was said"}
	if len(query) > maxQuery {
		e.Why = fmt.Sprintf("the query has %d bytes, at most %d are taken", len(query), maxQuery)
		return nil, e
	}
	words := strings.FieldsFunc(query, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	if len(words) == 0 {
		e.Why = "there is nothing to search for"
		return nil, e
	}
	for i, word := range words {
		words[i] = storable(word) // as stored
	}
	return words, nil
}

// condition finds long words through the index and short ones with LIKE.
func condition(words []string) (where string, args []any) {
	var terms, phrases []string
	for _, word := range words {
		if utf8.RuneCountInString(word) >= minIndexedWord {
			phrases = append(phrases, `"`+strings.ReplaceAll(word, `"`, `""`)+`"`)
			continue
		}
		terms = append(terms, `m.text like ? escape '\'`)
		args = append(args, likePattern(word))
	}
	if phrases != nil {
		terms = append(terms, `m.id in (select rowid from message_text where message_text match ?)`)
		args = append(args, strings.Join(phrases, " "))
	}
	return strings.Join(terms, " and "), args
}

// likePattern returns a LIKE pattern.
func likePattern(word string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(word) + "%"
}

// snippet returns the text around the first match.
func snippet(text string, words []string) string {
	all := []rune(text)
	at := -1
	lower := strings.Map(unicode.ToLower, text) // keeps the number of characters
	for _, word := range words {
		if i := strings.Index(lower, strings.Map(unicode.ToLower, word)); i >= 0 {
			at = utf8.RuneCountInString(lower[:i])
			break
		}
	}
	from, to := max(at-snippetRadius, 0), min(max(at, 0)+snippetRadius, len(all))
	cut := strings.Join(strings.Fields(string(all[from:to])), " ")
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(all) {
		cut += "…"
	}
	return cut
}
