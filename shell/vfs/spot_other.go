//go:build !unix

package vfs

// Without calls that take two open directories the names are followed again,
// inside of the tree.
func renameSpot(r *rooted, _, _ spot, old, new string) error { return r.root.Rename(old, new) }

func linkSpot(r *rooted, _, _ spot, old, new string) error { return r.root.Link(old, new) }
