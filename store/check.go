package store

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Check reports why no store takes the job of an enqueue, an ErrInvalid: what it lacks, or what a database cannot hold.
// Stores call it, so that all of them refuse the same.
func (j *Job) Check() error {
	switch {
	case j.ID == ID{}:
		return fmt.Errorf("%w: the job has no id", ErrInvalid)
	case j.Namespace == "", j.Queue == "", j.Kind == "":
		return fmt.Errorf("%w: job %s has no namespace, no queue or no kind", ErrInvalid, j.ID)
	case j.Priority < 1 || j.Priority > 4:
		return fmt.Errorf("%w: job %s: priority %d is not 1 to 4", ErrInvalid, j.ID, j.Priority)
	case j.MaxAttempts < 0 || j.MaxAttempts > math.MaxInt32, j.Codec < 0 || j.Codec > math.MaxInt32:
		return fmt.Errorf("%w: job %s: %d attempts, codec %d", ErrInvalid, j.ID, j.MaxAttempts, j.Codec)
	case j.OnParentClose > TerminateChild:
		return fmt.Errorf("%w: job %s: close policy %d", ErrInvalid, j.ID, j.OnParentClose)
	case !isTime(j.RunAt) || !isTime(j.Options.Deadline):
		return fmt.Errorf("%w: job %s: its run time or its deadline is not between the years 1 and 9999", ErrInvalid, j.ID)
	case len(j.Metadata) > 0 && !json.Valid(j.Metadata):
		return fmt.Errorf("%w: job %s: the metadata is not JSON", ErrInvalid, j.ID)
	}
	for _, text := range [...]string{j.Namespace, j.Queue, j.Kind, j.Version, j.OrderingKey, string(j.Metadata)} {
		if !isText(text) {
			return fmt.Errorf("%w: job %s: %.60q is no text that a database can hold", ErrInvalid, j.ID, text)
		}
	}
	for _, tag := range j.Tags {
		if !isText(tag) {
			return fmt.Errorf("%w: job %s: tag %.60q is no text that a database can hold", ErrInvalid, j.ID, tag)
		}
	}
	return nil
}

// Check reports why no store takes the checkpoint, an ErrInvalid: its value is not JSON.
func (c *CheckpointWrite) Check() error {
	if len(c.Checkpoint.Value) > 0 && !json.Valid(c.Checkpoint.Value) {
		return fmt.Errorf("%w: checkpoint of job %s: the value is not JSON", ErrInvalid, c.Lease.Job)
	}
	return nil
}

// Check reports why no store takes the times of an outcome, an ErrInvalid.
func (o *Outcome) Check() error {
	if !isTime(o.RunAt) || o.Wait != nil && !isTime(o.Wait.Until) {
		return fmt.Errorf("%w: outcome of job %s: a time that is not between the years 1 and 9999", ErrInvalid, o.Lease.Job)
	}
	return nil
}

// lastTime is the last one that everything can hold: databases count microseconds in 64 bits, JSON has four digits for the year.
var lastTime = time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)

// isTime reports whether a time can be stored; the zero time stands for none.
func isTime(t time.Time) bool { return !t.Before(time.Time{}) && !t.After(lastTime) }

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
