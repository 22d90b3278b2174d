package joblog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/store"
)

// Level keeps lines from a level on; without it, or for nil, that is slog.LevelInfo. It does not
// change what the logger of the client writes.
func Level(from slog.Leveler) holdfast.Option {
	return access.KeepLogs(runlog.Config{Level: from}).(holdfast.Option) //nolint:errcheck // always one
}

// Off keeps no lines: what handlers log goes to their logger only.
func Off() holdfast.Option {
	return access.KeepLogs(runlog.Config{Off: true}).(holdfast.Option) //nolint:errcheck // always one
}

// Line is what a handler has logged.
type Line struct {
	Time    time.Time  `json:"time"`
	Level   slog.Level `json:"level"`
	Message string     `json:"message"`
	// Attrs are the attributes, as a JSON object; nil: none. Those that Run.Logger adds are left
	// out, since they are the same for all lines of a run.
	Attrs   json.RawMessage `json:"attrs,omitempty"`
	Attempt int             `json:"attempt"`
	// Lease is the number of the lease of the run. A durable function that wakes up has another
	// one, in the same attempt.
	Lease  int64 `json:"lease"`
	Number int64 `json:"number"` // of the line in its run, from 1
	// Dropped is how many lines before this one, in its run, are not there any more.
	Dropped int64 `json:"dropped,omitempty"`
	Cut     int   `json:"cut,omitempty"` // how many bytes the line had, if it was too long
}

// Query says which lines of a job are read. The zero value: all from INFO on.
type Query struct {
	After   Place      // where to go on, as the last page said
	Attempt int        // lines of this attempt only; 0: of all
	Level   slog.Level // lines from this level on
}

// Place is where a page of lines ends.
type Place struct {
	chunk store.LogPlace
	line  int64 // the next one of the run
}

// Page is a part of what was logged about a job.
type Page struct {
	Lines []Line // by their runs, and then as they were logged
	Next  Place  // where what comes later begins
}

// Read returns the lines of a job that are there, after Query.After, or ErrNotFound. They are not
// more than is kept of a job, about 1 MiB. To follow a job, ask again with Next until it has ended,
// and then once more.
func Read(ctx context.Context, client *holdfast.Client, id holdfast.ID, q Query) (Page, error) {
	e, _ := access.Engine(client)
	page := Page{Next: q.After}
	for {
		const limit = 100
		params := store.LogParams{Namespace: client.Namespace(), Job: id, After: page.Next.chunk, Limit: limit}
		chunks, err := e.Store.Logs(ctx, params)
		if err != nil {
			return page, err
		}
		for i := range chunks {
			page.add(&chunks[i], &q)
		}
		if len(chunks) < limit {
			break
		}
	}
	if page.Next == (Place{}) {
		if _, err := e.Store.Get(ctx, client.Namespace(), id); err != nil {
			return page, err
		}
	}
	return page, nil
}

// add takes the lines of a chunk that are asked for. Those that are left out count as seen.
func (p *Page) add(c *store.LogChunk, q *Query) {
	next := int64(1)
	if p.Next.chunk.Lease == c.Lease {
		next = p.Next.line
	}
	dropped := max(c.First-next, 0)
	number := c.First
	if note := store.SealedNote(c.Lines, store.SealedCodec); c.IsSealed() {
		if q.Attempt == 0 || q.Attempt == c.Attempt {
			p.Lines = append(p.Lines, Line{
				Message: fmt.Sprintf("%d lines, %s", c.Count, note), Attempt: c.Attempt, Lease: c.Lease, Number: number, Dropped: dropped,
			})
		}
		p.Next = Place{c.Place(), c.First + int64(c.Count)}
		return
	}
	for text := range bytes.Lines(c.Lines) {
		var r runlog.Record
		if json.Unmarshal(text, &r) != nil {
			r = runlog.Record{Message: "a line that cannot be read"}
		}
		if (q.Attempt == 0 || q.Attempt == c.Attempt) && r.Level >= q.Level {
			p.Lines = append(p.Lines, Line{
				Time: r.Time, Level: r.Level, Message: r.Message, Attrs: r.Attrs, Cut: r.Cut,
				Attempt: c.Attempt, Lease: c.Lease, Number: number, Dropped: dropped,
			})
			dropped = 0
		}
		number++
	}
	p.Next = Place{c.Place(), c.First + int64(c.Count)}
}
