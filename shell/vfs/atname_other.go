//go:build !unix

package vfs

// Without calls that take two open directories the names are followed again,
// inside of the tree.
func renameAt(r *dirBackend, _, _ atName, old, new string) error { return r.root.Rename(old, new) }

func linkAt(r *dirBackend, _, _ atName, old, new string) error { return r.root.Link(old, new) }
