// Package forge is a fake GitHub or GitLab server on the loopback interface: the REST
// API as far as hako uses it, and git over HTTP.
//
// It is strict, so that a test which passes here has a chance to pass with the real
// servers: an unknown path, a wrong method, and parameters or fields that are unknown
// or missing are violations. It has paging, ETags, rate limits, permissions, and methods
// for what people change meanwhile. Search, reactions, pipelines and all else that hako
// does not request are missing.
//
// Responses follow the documentation of the provider, not what hako's client reads.
package forge

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// The providers.
const (
	GitHub = "github"
	GitLab = "gitlab"
)

// The kinds of items. GitLab numbers them separately.
const (
	Issue = "issue"
	Pull  = "pull"
)

// An Item is an issue or a pull request.
type Item struct {
	Kind      string
	Number    int // zero means the next one
	Title     string
	Body      string
	Author    string
	Labels    []string
	Assignees []string
	Closed    bool
	Merged    bool
	Draft     bool
	Branch    string // of a pull request
	Target    string
	From      string // repository of the branch; empty means the same

	// LabelledBy sets the labels that an item is added with; empty means a user who may
	// write, its author if possible.
	LabelledBy   string
	Confidential bool // of an issue; GitLab only

	Comments    []Comment
	Created     time.Time
	Updated     time.Time
	id          int
	labelEvents []labelEvent
}

// A labelEvent says that a user set or removed a label.
type labelEvent struct {
	id      int
	label   string
	user    string
	removed bool
	at      time.Time
}

// A Comment is one below an item.
type Comment struct {
	ID       int
	Author   string
	Body     string
	System   bool   // by the forge, such as "added label …"; GitLab only
	Internal bool   // for the members of a project; GitLab only
	Path     string // of a review comment
	Line     int
	Review   bool // the text of a review; GitHub only
	Created  time.Time
	Updated  time.Time
}

// A repo is a repository with what belongs to it.
type repo struct {
	id       int
	path     string
	main     string
	private  bool
	noDrafts bool
	members  map[string]string // permission by login
	items    []*Item
	gone     map[key]bool
	next     map[string]int // number by kind
	git      string         // directory; empty means there is none
}

type key struct {
	kind   string
	number int
}

type user struct {
	id    int
	login string
}

// User creates an account and returns its token, which is always the same.
func (s *Server) User(login string) (token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.user(login)
}

func (s *Server) user(login string) string {
	if _, ok := s.users[login]; !ok {
		s.users[login] = &user{len(s.users) + 1, login}
	}
	token := "ghp_" + strings.Repeat("Ab1", 10) + pad(s.users[login].id)
	if s.provider == GitLab {
		token = "glpat-" + strings.Repeat("Cd2", 4) + pad(s.users[login].id)
	}
	s.tokens[token] = login
	return token
}

func pad(n int) string {
	text := "00000" + itoa(n)
	return text[len(text)-6:]
}

// Repo creates a repository with the default branch main.
func (s *Server) Repo(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.repos[path] = &repo{id: 100 + len(s.repos), path: path, main: "main", members: map[string]string{},
		gone: map[key]bool{}, next: map[string]int{}}
}

// Private hides a repository from users who are not members.
func (s *Server) Private(path string) { s.withRepo(path, func(r *repo) { r.private = true }) }

// NoDrafts is a GitHub repository whose plan has no draft pull requests.
func (s *Server) NoDrafts(path string) { s.withRepo(path, func(r *repo) { r.noDrafts = true }) }

// Member gives a user a permission: read, triage, write, maintain, admin, or none.
func (s *Server) Member(path, login, right string) {
	s.User(login)
	s.withRepo(path, func(r *repo) { r.members[login] = right })
}

func (s *Server) withRepo(path string, change func(*repo)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.repos[path])
}

// Add adds an item to a repository and returns its number.
func (s *Server) Add(path string, item Item) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(s.repos[path], item).Number
}

func (s *Server) add(r *repo, item Item) *Item {
	counter := "all"
	if s.provider == GitLab {
		counter = item.Kind
	}
	if item.Number == 0 {
		item.Number = r.next[counter] + 1
	}
	r.next[counter] = max(r.next[counter], item.Number)
	if item.Author == "" {
		item.Author = "someone"
	}
	s.user(item.Author)
	for _, login := range item.Assignees {
		s.user(login)
	}
	if item.Kind == Pull && item.Target == "" {
		item.Target = r.main
	}
	item.id = s.newID()
	item.Created = s.tick()
	item.Updated = item.Created
	r.items = append(r.items, &item)
	if by := cmp.Or(item.LabelledBy, r.labeller(item.Author)); by != item.Author || item.LabelledBy != "" {
		s.recordLabels(&item, nil, by)
	}
	return &item
}

// Change changes an item as a user who may write.
func (s *Server) Change(path, kind string, number int, change func(*Item)) {
	s.ChangeBy("", path, kind, number, change)
}

// ChangeBy changes an item as a user. An empty name means one who may write.
func (s *Server) ChangeBy(who, path, kind string, number int, change func(*Item)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[path]
	item := r.find(kind, number)
	before := slices.Clone(item.Labels)
	change(item)
	item.Updated = s.tick()
	s.recordLabels(item, before, cmp.Or(who, r.labeller(item.Author)))
}

// Item returns an item as it is now, and whether it exists.
func (s *Server) Item(path, kind string, number int) (Item, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item := s.repos[path].find(kind, number)
	if item == nil {
		return Item{}, false
	}
	copied := *item
	copied.Labels, copied.Assignees, copied.Comments = slices.Clone(item.Labels), slices.Clone(item.Assignees),
		slices.Clone(item.Comments)
	return copied, true
}

// Items returns the numbers of all items of a kind.
func (s *Server) Items(path, kind string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var numbers []int
	for _, item := range s.repos[path].items {
		if item.Kind == kind {
			numbers = append(numbers, item.Number)
		}
	}
	return numbers
}

// Delete deletes an item.
func (s *Server) Delete(path, kind string, number int) {
	s.withRepo(path, func(r *repo) {
		r.items = slices.DeleteFunc(r.items, func(i *Item) bool { return i.Kind == kind && i.Number == number })
		r.gone[key{kind, number}] = true
	})
}

// PostComment adds a comment and returns its ID.
func (s *Server) PostComment(path, kind string, number int, c Comment) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.comment(s.repos[path].find(kind, number), c).ID
}

func (s *Server) comment(item *Item, c Comment) *Comment {
	s.user(c.Author)
	c.ID, c.Created = s.newID(), s.tick()
	c.Updated = c.Created
	item.Updated = c.Created
	item.Comments = append(item.Comments, c)
	return &item.Comments[len(item.Comments)-1]
}

func (r *repo) find(kind string, number int) *Item {
	for _, item := range r.items {
		if item.Kind == kind && item.Number == number {
			return item
		}
	}
	return nil
}

func (i *Item) findComment(id int) *Comment {
	for n := range i.Comments {
		if i.Comments[n].ID == id {
			return &i.Comments[n]
		}
	}
	return nil
}

// tick advances the forge's clock: every event is a second after the last.
func (s *Server) tick() time.Time {
	s.clock = s.clock.Add(time.Second)
	return s.clock
}

// Now returns the forge's clock.
func (s *Server) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

func (s *Server) newID() int {
	s.ids++
	return 1_000_000 + s.ids
}

// rank orders rights.
func rank(right string) int {
	return slices.Index([]string{"read", "triage", "write", "maintain", "admin"}, right) + 1
}

// can reports whether a user has at least a permission. Everybody may read public
// repositories.
func (r *repo) can(login, right string) bool {
	if !r.private && right == "read" {
		return true
	}
	return rank(r.members[login]) >= rank(right)
}

func (s *Server) sortedRepos() []*repo {
	return slices.SortedFunc(maps.Values(s.repos), func(a, b *repo) int { return a.id - b.id })
}

// hasLabels reports whether an item has all of some labels, ignoring case.
func (i *Item) hasLabels(list string) bool {
	if list == "" {
		return true
	}
	for want := range strings.SplitSeq(list, ",") {
		if !slices.ContainsFunc(i.Labels, func(l string) bool { return strings.EqualFold(l, want) }) {
			return false
		}
	}
	return true
}

func (i *Item) label(name string) {
	if !i.hasLabels(name) {
		i.Labels = append(i.Labels, name)
	}
}

func (i *Item) unlabel(name string) {
	i.Labels = slices.DeleteFunc(i.Labels, func(l string) bool { return strings.EqualFold(l, name) })
}

// recordLabels records how the labels of an item differ from what they were.
func (s *Server) recordLabels(i *Item, before []string, user string) {
	s.user(user)
	record := func(labels, others []string, removed bool) {
		for _, label := range labels {
			if !slices.Contains(others, label) {
				i.labelEvents = append(i.labelEvents, labelEvent{s.newID(), label, user, removed, s.clock})
			}
		}
	}
	record(before, i.Labels, true)
	record(i.Labels, before, false)
}

// labeller is a user who may write: the author of an item, or else the first by name.
// If there is none it is the author.
func (r *repo) labeller(author string) string {
	people := append([]string{author}, slices.Sorted(maps.Keys(r.members))...)
	for _, login := range people {
		if r.can(login, "write") && !strings.HasSuffix(login, "[bot]") {
			return login
		}
	}
	return author
}
