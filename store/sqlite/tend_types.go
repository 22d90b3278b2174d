package sqlite

import "sync/atomic"

// tendVerbs are what keeps a database in order, and what people do beside single jobs.
type tendVerbs struct {
	d          *database
	queuesSeen *atomic.Int64 // the last queue that Retain has looked at
}

// newTend returns the verbs of a database.
func newTend(d *database) tendVerbs { return tendVerbs{d, new(atomic.Int64)} }
