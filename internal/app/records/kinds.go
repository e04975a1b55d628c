package records

// Kinds are the kinds of events, in the order of a request.
func Kinds() []string {
	return []string{"asked", "judged", "approved", "refused", "denied", "started", "allowed", "opened", "closed",
		"removed", "model", "called", "answered", "ordered", "ended"}
}
