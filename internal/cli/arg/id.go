package arg

import (
	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast"
)

// ExampleID is the id of a job in examples.
const ExampleID = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"

// ParseID parses the id of a job.
func ParseID(text string) (holdfast.ID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.Nil.String()) {
		return id, Usagef("%q is not a job id; ids look like %s", text, ExampleID)
	}
	return id, nil
}

// ParseIDs parses the ids of jobs.
func ParseIDs(texts []string) ([]holdfast.ID, error) {
	ids := make([]holdfast.ID, len(texts))
	for i, text := range texts {
		var err error
		if ids[i], err = ParseID(text); err != nil {
			return nil, err
		}
	}
	return ids, nil
}
