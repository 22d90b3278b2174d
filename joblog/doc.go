// Package joblog reads what handlers have logged about their jobs: what they say to Run.Logger is
// kept with the job, beside going to the node's logger.
//
//	page, err := joblog.Read(ctx, hf, id, joblog.Query{})
//	for _, line := range page.Lines {
//		fmt.Println(line.Time, line.Level, line.Message, string(line.Attrs))
//	}
//
//	Read         the lines of a job, of all of its attempts, or those after a place
//	Level, Off   options of holdfast.Open: what is kept. Without one, it is lines from INFO on.
//
// # What is kept
//
// Of each run the last 1,000 lines or 256 KiB, and of a job the last 100 runs that have logged, as
// long as those after a run do not have 1 MiB. What is dropped are the oldest lines, and
// Line.Dropped counts them. A line of more than 16 KiB is cut (Line.Cut). The lines go with the
// job.
//
// # When it is there
//
// Lines are stored every second, those of all runs of a process together, and before the end of
// their run is: so when a job has ended its lines are there. A handler never waits for that. If the
// database is slow or away the job goes on, and the lines come later; if it is away for long, some
// are lost, and a line in the log of the node says so. A process that is killed loses what it has
// logged in the last second.
//
// # Durable functions
//
// A durable function is called again when it wakes up. What it has logged before is not stored
// again. To tell, Holdfast goes by the journal: lines count as new from the first operation on that
// the journal does not have. A line between the end of a Sleep and a wait for a message that
// follows may be there once for each time the run was woken.
//
// # How it fails
//
// By ErrNotFound, ErrInvalid and ErrUnavailable as elsewhere.
//
// # Imports
//
// Of ours, the root package, store, internal/access and internal/runlog.
package joblog
