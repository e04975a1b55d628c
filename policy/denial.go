package policy

import "errors"

// ErrUnlisted is found by [errors.Is] in the refusal of a command that no rule
// allows or that a rule denies, as opposed to one refused for its path, its
// options or a redirection.
var ErrUnlisted = errors.New("the command is not on the list of allowed commands")

// An UnlistedError is the cause of such a refusal. Its text is the reason and
// nothing more, so that it can stand in place of one.
type UnlistedError struct {
	Name string // the command's name
	Why  string // the rule's reason, or that there is no rule
}

// Error returns the reason.
func (e *UnlistedError) Error() string { return e.Why }

// Is makes every UnlistedError an [ErrUnlisted].
func (e *UnlistedError) Is(target error) bool { return target == ErrUnlisted }

// Reason returns why the command was refused, for an error made of it: in
// words, or as a cause whose text are the same words. Exactly one is set.
func (v Verdict) Reason() (why string, cause error) {
	if v.Unlisted {
		return "", &UnlistedError{Name: v.Name, Why: v.Why}
	}
	return v.Why, nil
}
