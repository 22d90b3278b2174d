package holdfasttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfastdev/holdfast"
)

// Journal returns the journal of a job.
func (e *Env) Journal(id holdfast.ID) holdfast.Journal {
	e.T.Helper()
	j, err := e.Client.Journal(e.T.Context(), id)
	if err != nil {
		e.T.Fatalf("holdfasttest: the journal of job %s: %v", id, err)
	}
	return j
}

// RequireJournal fails the test unless the entries of a job's journal are those given: each is the
// entry's kind, followed by its name if it has one, such as "step charge" or "selected".
func (e *Env) RequireJournal(id holdfast.ID, want ...string) {
	e.T.Helper()
	var have []string
	for _, entry := range e.Journal(id).Entries {
		text := entry.Kind
		if entry.Kind != "callback" { // its name is a random token
			text = strings.TrimSpace(text + " " + entry.Name)
		}
		have = append(have, text)
	}
	if !slices.Equal(have, want) {
		e.T.Fatalf("the journal of job %s has\n\t%s\nnot\n\t%s", id, strings.Join(have, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// SaveJournal writes a job's journal to a file, for Replay.
func (e *Env) SaveJournal(id holdfast.ID, file string) {
	e.T.Helper()
	data, err := json.MarshalIndent(e.Journal(id), "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, append(data, '\n'), 0o644)
	}
	if err != nil {
		e.T.Fatalf("holdfasttest: %v", err)
	}
}
