//go:build !linux

package usage

import (
	"context"
)

// Tree is not known on this system.
func Tree(context.Context, string) (int64, error) { return 0, nil }

// Room is not known on this system.
func Room(string) Space { return Space{} }
