package wire

// Calls of the guest.
const (
	CallPing     = "ping"
	CallStats    = "stats"
	CallShutdown = "shutdown"
	CallEdit     = "edit"
	CallStart    = "job.start"
	CallStatus   = "job.status"
	CallList     = "job.list"
	CallKill     = "job.kill"
	CallWait     = "job.wait"
	CallOutput   = "job.output"
)

// Parameters are the parameters of calls.
type Parameters struct {
	Handle string `json:"handle,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	Limit  int    `json:"limit,omitempty"`
	Disk   bool   `json:"disk,omitempty"`
}
