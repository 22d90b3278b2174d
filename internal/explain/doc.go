// Package explain finds out why a job does not start, continue or end: holdfast.Client.Why.
//
// It reads the job, what stands in its way (Obstacles) and the nodes, and puts their facts into the
// words of package why. It writes nothing, and decides nothing: what it says of a job that is ready
// is what a node would see now, and may be over when it is read. It imports the store contract and
// package why, and sees no database.
package explain
