package records

// Kinds are what an event of the record can tell, in the order in which it
// happens to a request.
func Kinds() []string {
	return []string{"asked", "judged", "approved", "refused", "denied", "started", "allowed", "opened", "closed",
		"removed", "model", "called", "answered", "ordered", "ended"}
}
