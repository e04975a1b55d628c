package console

import "strings"

// navigation has the pages in order.
var navigation = []string{"now", "approvals", "secretary", "tasks", "sandboxes", "budget", "audit", "policy"}

// The routes that pages use.
const (
	loginRoute     = "/login"
	logoutRoute    = "/logout"
	renderRoute    = "/page/said"
	eventsRoute    = "/api/v1/events"
	approvalsRoute = "/api/v1/approvals"
	chatRoute      = "/api/v1/secretary/chat"
	sessionsRoute  = "/api/v1/secretary/sessions"
	voiceRoute     = "/api/v1/secretary/voice"
	todosRoute     = "/api/v1/todos"
	tasksRoute     = "/api/v1/tasks"
	boxesRoute     = "/api/v1/boxes"
)

// current is the value of aria-current.
func current(is bool) string {
	if is {
		return "true"
	}
	return "false"
}

func yes(is bool) string { return current(is) }

// className makes a class name of a value by dropping other characters.
func className(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return -1
	}, s)
}
