package fault

import (
	"errors"
	"fmt"
	"testing"
)

func TestJoined(t *testing.T) {
	err := fmt.Errorf("two things: %w", errors.Join(errors.New("x"), &Error{Op: "a"},
		&Error{Op: "b", Err: &Error{Kind: Denied, Hint: "try c"}}, &Error{Kind: Timeout}))
	if k := KindOf(err); k != Denied {
		t.Errorf("kind %v, want denied", k)
	}
	if h := Hint(err); h != "try c" {
		t.Errorf("hint %q", h)
	}
}
