// Package events has the live streams of the API: every change of a job's state, and what one job
// does while a reader watches it; and the operations on the feed of changes.
//
// A stream is Server-Sent Events, or lines of JSON. Each frame says where to go on after it, so a
// reader that lost its connection misses nothing. Between the feed and the socket is a buffer of a
// few frames and no more: a reader that is slow is read for as slowly, and the feed keeps what it
// has not got. Only when that is gone is there a gap, and the reader is told of it (reset). A write
// that the reader does not take in time ends the connection.
//
// A stream ends after about an hour, so that a key which was revoked does not read on, and when the
// server stops; it says so (bye), and when to come back.
//
// # Imports
//
// Of ours, the root package, events, internal/cli/views, and server/internal/api and
// server/internal/jobs with what these stand on.
package events

import (
	"log/slog"
	"time"
)

const tag = "events"

// Config says how many streams there may be.
type Config struct {
	// Total is how many streams there may be at once, and Each how many of one principal.
	Total, Each int
	Log         *slog.Logger
}

const (
	heartbeat = 15 * time.Second
	writeWait = 30 * time.Second // how long a write may take
	lifetime  = time.Hour        // about how long a stream lasts
	buffered  = 16               // frames between what reads and what writes
)
