// Package vet reports code in durable functions that cannot be replayed. The program holdfast-vet,
// which "holdfast vet" runs, is made of it.
//
// A durable function is replayed from its beginning after every wait and every restart, and its
// durable operations return what they returned the first time. So everything that decides which
// operations it performs, and in which order, must come from its args and from other durable
// operations. A clock, a random number, a goroutine or the order of a map does not.
//
// # How it works
//
// Analyzer works on the syntax and types of one package at a time. It builds a tree of the
// package's functions and function literals, and gives each literal a role, by its parameters and
// by the function that it is passed to (tree.go). Then it finds, to a fixed point, the functions
// that perform durable operations, directly or through others of the package (operation.go). Only
// those are checked (rules.go), except what they pass to Step and StepTx, which may do anything but
// perform durable operations.
//
// What it cannot see it takes to be correct: what other packages do with a run, calls through an
// interface or a variable that is assigned more than once, and helpers that perform no operation. A
// literal that takes a context.Context is taken for a step unless it is called in place. Few false
// positives matter more than completeness.
//
// The names of the operations and of what they replace are tables in names.go. A test compares them
// with the root package, so that a new operation is not forgotten.
//
// # Imports
//
// This package imports no other of ours: it knows the library by its path and names. No other
// package imports golang.org/x/tools.
package vet
