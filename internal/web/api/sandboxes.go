package api

import (
	"math"

	"hako/internal/app/sandboxes"
	"hako/internal/redact"
)

// SandboxList is the answer with all sandboxes and containers.
type SandboxList struct {
	Boxes []sandboxes.Sandbox `json:"boxes"`
}

func (s *Server) sandboxSource() (Sandboxes, error) {
	return available(s.Sources.Sandboxes, "boxes", "start the server with containers or MCP")
}

func (s *Server) listSandboxes(c *call) (SandboxList, error) {
	sandboxSource, err := s.sandboxSource()
	if err != nil {
		return SandboxList{}, err
	}
	all, err := sandboxSource.List(c.Context())
	return SandboxList{some(all)}, err
}

func (s *Server) sandbox(c *call) (sandboxes.Sandbox, error) {
	sandboxSource, err := s.sandboxSource()
	if err != nil {
		return sandboxes.Sandbox{}, err
	}
	return sandboxSource.Get(c.Context(), c.PathValue("id"))
}

func (s *Server) destroySandbox(c *call, _ nothing) (nothing, error) {
	sandboxSource, err := s.sandboxSource()
	if err != nil {
		return nothing{}, err
	}
	return nothing{}, sandboxSource.Destroy(c.Context(), c.identity.Actor, c.PathValue("id"))
}

// Output is a piece of what a job printed.
type Output struct {
	Text     string `json:"text"`
	Next     int64  `json:"next"`     // where the next piece begins
	Redacted int    `json:"redacted"` // places of this piece that have a mark instead of a secret
}

const usualOutput, mostOutput = 64 << 10, 1 << 20

func (s *Server) output(c *call) (Output, error) {
	sandboxSource, err := s.sandboxSource()
	if err != nil {
		return Output{}, err
	}
	offset, err := c.number("offset", 0, math.MinInt64, math.MaxInt64)
	if err != nil {
		return Output{}, err
	}
	most, err := c.number("most", usualOutput, 1, mostOutput)
	if err != nil {
		return Output{}, err
	}
	text, next, err := sandboxSource.Output(c.Context(), c.PathValue("id"), c.PathValue("job"), offset, int(most))
	return Output{text, next, redact.Marks(text)}, err
}
