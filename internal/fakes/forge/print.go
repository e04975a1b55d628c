package forge

import (
	"fmt"
	"io"
	"strings"
)

// Print writes what people see of a repository: its issues, and its pull requests with
// their changes.
func (s *Server) Print(w io.Writer, path string) error {
	for _, kind := range []string{Issue, Pull} {
		for _, number := range s.Items(path, kind) {
			item, _ := s.Item(path, kind, number)
			s.printItem(w, item)
			if kind != Pull || item.From != "" {
				continue
			}
			diff, err := s.Diff(path, item.Target, item.Branch)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\n%s\n", indented(diff))
		}
	}
	return nil
}

func (s *Server) printItem(w io.Writer, i Item) {
	draft := ""
	if i.Draft {
		draft = " (draft)"
	}
	fmt.Fprintf(w, "\n=== %s %s %d: %s%s, by %s\n", s.provider, i.Kind, i.Number, i.Title, draft, i.Author)
	if i.Branch != "" {
		fmt.Fprintf(w, "    %s -> %s\n", i.Branch, i.Target)
	}
	fmt.Fprintf(w, "    labels: %s\n\n%s\n", strings.Join(i.Labels, ", "), indented(i.Body))
	for _, c := range i.Comments {
		if !c.System {
			fmt.Fprintf(w, "\n--- %s\n%s\n", c.Author, indented(c.Body))
		}
	}
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// Diff returns the commits of a branch that another lacks, with their changes.
func (s *Server) Diff(path, target, branch string) (string, error) {
	return git(s.gitDir(path), "log", "-p", "--format=%an: %B", target+".."+branch)
}

// Refs lists all references of a repository, hidden ones included.
func (s *Server) Refs(path string) (string, error) {
	return git(s.gitDir(path), "for-each-ref", "--format=%(refname)")
}
