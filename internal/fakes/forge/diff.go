package forge

// Diff returns what a branch changes on another, as people see it.
func (s *Server) Diff(path, target, branch string) (string, error) {
	s.mu.Lock()
	dir := s.repos[path].git
	s.mu.Unlock()
	return git(dir, "log", "-p", "--format=%an: %B", target+".."+branch)
}

// Refs lists all references of a repository, hidden ones too.
func (s *Server) Refs(path string) (string, error) {
	s.mu.Lock()
	dir := s.repos[path].git
	s.mu.Unlock()
	return git(dir, "for-each-ref", "--format=%(refname)")
}
