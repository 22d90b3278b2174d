package arg

import (
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast"
)

// ExampleID is the id of a job in examples.
const ExampleID = "01936d3e-7c2a-7b51-9a0e-3f1d5c8e2b64"

// LeastPrefix is how many characters of an id can stand for it.
const LeastPrefix = 8

// jobName is what --output name writes before the id of a job.
const jobName = "job/"

// ParseID parses the id of a job, or the name of a job.
func ParseID(text string) (holdfast.ID, error) {
	plain := strings.TrimPrefix(text, jobName)
	id, err := uuid.Parse(plain)
	switch {
	case err == nil && len(plain) == len(ExampleID):
		return id, nil
	case tooShort.MatchString(plain):
		return id, Usagef("%q is not a job id; type at least %d characters of it", text, LeastPrefix)
	}
	return id, Usagef("%q is not a job id; ids look like %s, and the first %d characters may be enough", text, ExampleID, LeastPrefix)
}

// ParseWholeID parses the whole id of a job that is not looked for in a database, so that the
// beginning of one will not do; or the name of a job.
func ParseWholeID(text string) (holdfast.ID, error) {
	plain := strings.TrimPrefix(text, jobName)
	id, err := uuid.Parse(plain)
	if err != nil || len(plain) != len(ExampleID) {
		return id, Usagef("%q is not the whole id of a job, such as %s", text, ExampleID)
	}
	return id, nil
}

// batchName is what --output name writes before the id of a batch.
const batchName = "batch/"

// ParseBatchID parses the whole id of a batch, or the name of a batch.
func ParseBatchID(text string) (holdfast.ID, error) {
	plain := strings.TrimPrefix(text, batchName)
	id, err := uuid.Parse(plain)
	if err != nil || len(plain) != len(ExampleID) {
		return id, Usagef("%q is not the id of a batch, such as %s; \"holdfast batch list\" shows them", text, ExampleID)
	}
	return id, nil
}

// operationName is what --output name writes before the id of an operation.
const operationName = "operation/"

// ParseOperationID parses the whole id of an operation, or its name.
func ParseOperationID(text string) (holdfast.ID, error) {
	plain := strings.TrimPrefix(text, operationName)
	id, err := uuid.Parse(plain)
	if err != nil || len(plain) != len(ExampleID) {
		return id, Usagef("%q is not the id of an operation, such as %s; \"holdfast operation list\" shows them", text, ExampleID)
	}
	return id, nil
}

// ParseNewID parses the id that a flag gives to what is new.
func ParseNewID(flag, text string) (holdfast.ID, error) {
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(ExampleID) || id.Version() != 7 {
		return id, Usagef("--%s %q: must be a whole UUIDv7, such as %s", flag, text, ExampleID)
	}
	return id, nil
}

// tooShort is what could be the beginning of an id.
var tooShort = regexp.MustCompile(`^[0-9a-fA-F]{1,7}$`)

// Prefix returns the beginning of an id that a text stands for, in small letters; "" if the text is
// none, but perhaps a whole id.
func Prefix(text string) string {
	prefix := strings.ToLower(strings.TrimPrefix(text, jobName))
	if len(prefix) < LeastPrefix || len(prefix) >= len(ExampleID) {
		return ""
	}
	if _, err := uuid.Parse(prefix + ExampleID[len(prefix):]); err != nil {
		return ""
	}
	return prefix
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
