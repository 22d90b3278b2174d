// Package scenario holds what is measured: each scenario drives any system in the same way and
// counts what is durable.
//
// A scenario runs in a process of its own on empty databases of its own, one for each of its parts:
// some compare a system with itself, such as one node with four. What is filled in beforehand is
// not timed. The clock runs until the outcomes of all counted jobs are committed, and then the
// scenario checks that nothing is left that should be finished.
package scenario
