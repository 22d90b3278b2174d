package store

import (
	"context"
	"fmt"
)

// What is kept at most of what the runs of a job log.
const (
	// LogRunLines and LogRunBytes bound the lines of one run. The process of the run keeps to
	// them, by LogChunk.Keep.
	LogRunLines = 1000
	LogRunBytes = 256 << 10
	// LogChunkBytes bounds the lines of one chunk.
	LogChunkBytes = 64 << 10
	// LogJobRuns is of how many runs of a job lines are kept: the last ones that have any.
	LogJobRuns = 100
	// LogJobBytes is how much the later runs of a job must have for an earlier one to be dropped.
	// So what is kept of a job are at most LogJobBytes and the lines of a run.
	LogJobBytes = 1 << 20
)

// Logs keeps what runs log. It is not part of the state of a job: nothing waits for it, and nothing
// goes by it.
//
// A chunk is not fenced. One of a run whose lease is over may still say why; it has the number of
// its lease, so it is not taken for one of another run.
type Logs interface {
	// KeepLogs writes chunks, and then removes what their Keep and Opens say, in one transaction. A
	// chunk that is there already stays as it is, so that a call may be repeated. One of a job that
	// is not there, or that is being removed, is dropped, without an error. The error is ErrInvalid
	// for chunks that fail Check, of which none is written then.
	//
	// It waits for no transaction of a caller. (SQLite has one writer, for whom all wait.)
	KeepLogs(ctx context.Context, chunks []LogChunk) error
	// Logs returns a page of what the runs of one job have logged, in the order of their leases and
	// then of the lines. A job that is not there has none. The error is ErrInvalid.
	Logs(ctx context.Context, params LogParams) ([]LogChunk, error)
}

// LogChunk is a piece of what a run has logged: lines that follow each other.
type LogChunk struct {
	Job     ID
	Lease   int64 // the number of the lease of the run (Lease.Number)
	Attempt int   // Job.Attempt of the run
	// First is the number of the first line: the lines of a run are numbered from 1 as they are
	// logged. Lines that are not there were dropped, since the run logged too much.
	First int64
	Count int // how many lines the chunk has
	// Keep is the number of a line of the run: its chunks that begin before are removed. 0: none.
	// It is not stored.
	Keep int64
	// Opens says that this may be the first chunk of the run that is written, and that the run is
	// not the first one of the job. Runs of the job beyond LogJobRuns and LogJobBytes are removed
	// then. It is not stored.
	Opens bool
	// Lines are the lines, each with a line break at its end. A store does not read them.
	Lines []byte
}

// LogParams is a page of what the runs of a job have logged.
type LogParams struct {
	Namespace string // of the job; "": any
	Job       ID
	After     LogPlace // the zero value: from the beginning
	Limit     int      // of the chunks; 1 to 1000
}

// LogPlace is a place in what the runs of a job have logged.
type LogPlace struct {
	Lease int64 // the number of the lease of a run
	First int64 // of a chunk of the run
}

// Place is that of the chunk.
func (c *LogChunk) Place() LogPlace { return LogPlace{c.Lease, c.First} }

// Before reports whether a place comes before another one.
func (p LogPlace) Before(q LogPlace) bool {
	return p.Lease < q.Lease || p.Lease == q.Lease && p.First < q.First
}

// Check returns an ErrInvalid for a chunk that cannot be one.
func (c *LogChunk) Check() error {
	switch {
	case c.Lease < 1 || c.First < 1 || c.Count < 1 || c.Keep < 0 || c.Attempt < 0:
		return fmt.Errorf("%w: lines of job %s: lease %d, attempt %d, %d lines from %d on, those before %d are dropped",
			ErrInvalid, c.Job, c.Lease, c.Attempt, c.Count, c.First, c.Keep)
	case len(c.Lines) == 0 || len(c.Lines) > LogChunkBytes && !c.IsSealed():
		return fmt.Errorf("%w: lines of job %s: %d bytes; 1 to %d may be written at once", ErrInvalid, c.Job, len(c.Lines), LogChunkBytes)
	}
	return nil
}

// IsSealed reports whether a codec has encoded the lines, which makes them a little longer.
func (c *LogChunk) IsSealed() bool {
	_, ok := ParseEnvelope(c.Lines)
	return ok && len(c.Lines) <= LogChunkBytes+maxSealing
}

// maxSealing bounds what sealing adds to the lines of a chunk.
const maxSealing = 4096

// CheckLogs returns the first error of Check.
func CheckLogs(chunks []LogChunk) error {
	for i := range chunks {
		if err := chunks[i].Check(); err != nil {
			return err
		}
	}
	return nil
}
