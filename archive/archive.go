// Package archive keeps finished jobs elsewhere before retention removes them: in a directory
// (Dir), or wherever a Store puts files.
//
// With the option To the node that leads writes the jobs that are over into files of JSON lines,
// compressed by gzip, one job a line with everything that is kept of it, and removes them once
// their file is closed. A file has up to 1000 jobs, and its name begins with the day:
// 2026/11/27/….jsonl.gz.
//
// No job is removed that is not in a file that was closed. A process that dies between the two has
// written jobs which are still there: they are in a later file once more, with the same line but
// for the time, unless they have run again. A job that a person retries meanwhile stays. While an
// archive fails, because its disk is full or it cannot be reached, no job is removed, the node logs
// it, and the next look, a minute later, tries again.
//
// With Stubs a job that was archived leaves a stub in the database when it is removed, in the same
// transaction: holdfast.Client.Get, and "holdfast job get", then return a *store.ArchivedError,
// which is an ErrNotFound and says in which file the job is. Stubs are kept for a year, or as
// WithRetention says.
//
// What a codec has encoded (package codec) stays encoded in the files. Job.Decode decodes it.
//
// All programs that may lead, that is all that run nodes, need the option: one without it removes
// jobs and archives none.
//
// # Imports
//
// The root package, internal/access and store.
package archive

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// Store is where archived files are kept. An object store implements it by uploading the file when
// it is closed.
type Store interface {
	// Create begins a file. The name has slashes, and is never used twice.
	Create(ctx context.Context, name string) (File, error)
}

// File is a file that is being written. It counts once Close has returned nil, as a whole, even if
// the machine loses its power then; before, and after an error, no reader finds a part of it.
type File interface {
	io.Writer
	// Close makes the file durable, and gives it its name.
	Close() error
	// Abort forgets the file. After Close it does nothing.
	Abort() error
}

// Job is a line of an archive.
type Job struct {
	Version    int            `json:"v"` // of the form of the line: 1
	ArchivedAt time.Time      `json:"archived_at"`
	Job        store.Record   `json:"job"`
	Journal    *store.Journal `json:"journal,omitempty"` // what it remembers and was sent; nil: nothing, or WithoutJournals
	Logs       []Logs         `json:"logs,omitempty"`
}

// Logs are lines that a run of the job has logged, one after the other.
type Logs struct {
	Attempt int      `json:"attempt"`
	Lease   int64    `json:"lease"` // the number of the lease of the run
	First   int64    `json:"first"` // the number of the first line in the run
	Lines   []string `json:"lines"`
	// Sealed are the lines, if a codec has encoded them; Lines are empty then.
	Sealed []byte `json:"sealed,omitempty"`
}

// Decode decodes what a codec has encoded before it was stored, which is archived as it was. What
// cannot be decoded, as its key is missing, stays as it is: with the number store.SealedCodec, and
// for lines as Sealed.
func (j *Job) Decode(ctx context.Context, c store.Codec) {
	var lines []*[]byte
	for i := range j.Logs {
		if j.Logs[i].Sealed != nil {
			lines = append(lines, &j.Logs[i].Sealed)
		}
	}
	access.OpenSealed(ctx, c, &j.Job, j.Journal, lines)
	for i := range j.Logs {
		l := &j.Logs[i]
		if _, sealed := store.ParseEnvelope(l.Sealed); l.Sealed != nil && !sealed {
			l.Lines, l.Sealed = linesOf(l.Sealed), nil
		}
	}
}

// linesOf are the lines of a text that ends with one.
func linesOf(text []byte) []string {
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// Option says how jobs are archived.
type Option func(*writer)

// Stubs lets archived jobs leave a stub in the database that says in which file they are: about 200
// bytes for each, until store.Retention.Stubs is over. Jobs that a program without this option
// archives leave none.
func Stubs() Option { return func(w *writer) { w.stubs = true } }

// WithoutJournals leaves out what durable functions remember and were sent, which may be most of an
// archive. It is removed with the job then.
func WithoutJournals() Option { return func(w *writer) { w.noJournals = true } }

// To lets the nodes of a client archive jobs before they remove them: with their journals, and
// leaving no stubs, if no option says otherwise.
func To(s Store, opts ...Option) holdfast.Option {
	if s == nil {
		return access.Fails(fmt.Errorf("%w: archive.To needs a store", holdfast.ErrInvalid)).(holdfast.Option) //nolint:errcheck // always one
	}
	w := &writer{to: s}
	for _, opt := range opts {
		opt(w)
	}
	keep := func(ctx context.Context, st store.Store, jobs []store.EndedJob) error { return w.write(ctx, st, jobs) }
	return access.Archive(keep).(holdfast.Option) //nolint:errcheck // always one
}

// writer archives jobs.
type writer struct {
	to         Store
	stubs      bool
	noJournals bool
}

// write archives jobs in one file, and says of those that are to leave a stub where. Those that
// have run again, or were deleted, are left out.
func (w *writer) write(ctx context.Context, st store.Store, jobs []store.EndedJob) (err error) {
	now := st.Now().UTC()
	var unique [8]byte
	_, _ = rand.Read(unique[:]) // it never fails
	name := now.Format("2006/01/02/150405.000000-") + hex.EncodeToString(unique[:]) + ".jsonl.gz"
	f, err := w.to.Create(ctx, name)
	if err != nil {
		return fmt.Errorf("create %s: %w", name, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("write %s: %w", name, errors.Join(err, f.Abort()))
		}
	}()
	buffer := bufio.NewWriterSize(f, 64<<10)
	packed := gzip.NewWriter(buffer)
	lines, written := json.NewEncoder(packed), 0
	for i := range jobs {
		line, found, err := w.read(ctx, st, &jobs[i])
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		line.Version, line.ArchivedAt = 1, now
		if err := lines.Encode(line); err != nil { //nolint:musttag // records have a form of their own
			return err
		}
		written++
	}
	if written == 0 {
		return f.Abort()
	}
	if err := packed.Close(); err != nil {
		return err
	}
	if err := buffer.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	for i := range jobs {
		if w.stubs {
			jobs[i].Archived = name
		}
	}
	return nil
}

// read reads all that is kept of a job, if it is as finished as it was.
func (w *writer) read(ctx context.Context, st store.Store, j *store.EndedJob) (line *Job, found bool, err error) {
	record, err := st.Get(ctx, "", j.ID)
	if errors.Is(err, store.ErrNotFound) || err == nil && (record.State != j.State || !record.FinishedAt.Equal(j.FinishedAt)) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	line = &Job{Job: record}
	if !w.noJournals {
		journals, err := st.Journals(ctx, "", []store.ID{j.ID})
		if err != nil {
			return nil, false, err
		}
		for i := range journals {
			if len(journals[i].Entries)+len(journals[i].Messages) > 0 {
				line.Journal = &journals[i]
			}
		}
	}
	line.Logs, err = logsOf(ctx, st, j.ID)
	return line, err == nil, err
}

// logsOf reads what the runs of a job have logged.
func logsOf(ctx context.Context, st store.Store, id store.ID) (all []Logs, err error) {
	const limit = 100
	for after := (store.LogPlace{}); ; {
		chunks, err := st.Logs(ctx, store.LogParams{Job: id, After: after, Limit: limit})
		if err != nil {
			return nil, err
		}
		for i := range chunks {
			c := &chunks[i]
			after = c.Place()
			logged := Logs{Attempt: c.Attempt, Lease: c.Lease, First: c.First}
			if _, sealed := store.ParseEnvelope(c.Lines); sealed {
				logged.Sealed = c.Lines
			} else {
				logged.Lines = linesOf(c.Lines)
			}
			all = append(all, logged)
		}
		if len(chunks) < limit {
			return all, nil
		}
	}
}

// Read calls each for the jobs of an archived file, or of several ones that were put together,
// until it returns an error. It holds one job in memory at a time.
func Read(from io.Reader, each func(*Job) error) error {
	packed, err := gzip.NewReader(from)
	if err != nil {
		return err
	}
	lines := json.NewDecoder(bufio.NewReader(packed))
	for {
		var j Job
		switch err := lines.Decode(&j); { //nolint:musttag // as above
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := each(&j); err != nil {
			return err
		}
	}
}
