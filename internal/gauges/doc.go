// Package gauges measures a process, and keeps what was measured of processes and databases as
// bytes.
//
//	Sample    what was measured at some time, by name; Encode and Decode
//	Process   measures the process that it is in
//	Database  takes what a store has measured
//
// What a system does not tell has no value: it is never 0 because of that.
//
// # Imports
//
// Of ours, store.
package gauges
