package text_test

import (
	"testing"

	"hako/shell/command"
	"hako/shell/command/internal/commandtest"
)

func TestTranscripts(t *testing.T) { commandtest.Transcripts(t, command.All()) }

func TestOracle(t *testing.T) { commandtest.Oracle(t) }
