package command

// What the tree says about everybody: there is one user, and nothing of the
// host shows through.
const (
	userName = "user"
	userID   = 1000
	hostName = "hako"
)
