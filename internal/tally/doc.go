// Package tally counts what happened to runs, by the minute, and by the queue and kind of their
// jobs, and how long they waited and took.
//
//	Hist     durations in buckets, of which percentiles are told
//	Counts   how often each thing happened; Entry: that and the durations, of a queue and kind
//	Set      the entries of a time, at most MaxEntries of them
//	Encode   a Set as bytes, and back; the first byte is the version of the format
//	Recorder what a node counts now, minute by minute, until it is written
//
// # Percentiles
//
// A bucket is at most a sixteenth as wide as its lower bound, and a percentile is the middle of its
// bucket. So it differs by at most 1/32 (3.2 %) from that of the durations themselves, or by less
// than a microsecond. Below 32 µs, and for the largest duration of all, it is exact. Sets that are
// merged tell the same as one that counted everything.
//
// # Imports
//
// Nothing of ours.
package tally
