package cli

// The only user and the host name that commands report. They reveal nothing about the
// host.
const (
	UserName = "user"
	UserID   = 1000
	HostName = "hako"
)
