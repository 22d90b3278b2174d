// Package stats tells what happened to runs, minute by minute, and how nodes and the database are
// doing: what charts and alarms are made of.
//
//	points, err := stats.Jobs(ctx, hf, stats.Query{Step: time.Minute, By: stats.ByQueue})
//	for _, p := range points {
//		fmt.Println(p.At, p.Queue, p.Completed, p.Run.P99)
//	}
//
//	Jobs       runs by time, queue and kind: counts, rates, and percentiles of durations
//	Nodes      what nodes have measured of themselves
//	Database   what the leader has measured of the database
//	Off        an option of holdfast.Open: its nodes count and measure nothing
//
// # What is counted
//
// Each node counts its runs as they start and end, and writes that down with its heartbeats. A run
// counts in the minute in which it started, and in that in which its end was stored, by the clock
// of the database. So nothing here reads jobs, and retention of jobs changes nothing about it. The
// current minute grows; what is missing of it is at most what happened since the last heartbeat, 5
// s by default. A node that is killed loses that much.
//
// # How exact it is
//
// Counts are exact. Percentiles are within 1/32 (3.2 %) of those of the durations themselves, also
// over many nodes and minutes; the longest one and the mean are exact, to the microsecond. A node
// tells 999 pairs of queue and kind apart in a minute; the runs of all others count together, as
// Point.Other.
//
// # How long it is kept
//
// Minutes for 3 days, then hours for 90 days. What nodes have measured is kept for 3 days; of the
// database the last measurement of each hour for 90 days.
//
// # How it fails
//
// By ErrInvalid for a query that would read or return too much, or ask for minutes where only hours
// are kept: it says what to do. By ErrSchema for rows of a newer program that this one cannot read.
// By ErrUnavailable as elsewhere.
//
// # Imports
//
// Of ours, the root package, store, internal/access, internal/gauges and internal/tally.
package stats
