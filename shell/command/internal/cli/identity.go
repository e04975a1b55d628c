package cli

// What the tree says about everybody: there is one user, and nothing of the
// host shows through.
const (
	UserName = "user"
	UserID   = 1000
	HostName = "hako"
)
