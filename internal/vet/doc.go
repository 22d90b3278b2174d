// Package vet finds, in the source of durable functions, what cannot be replayed: "holdfast vet" is its command.
//
// A durable function is run again from its beginning after every wait and every restart, and its durable operations give it what they gave
// it the first time. So all that decides which operations it performs, and in which order, has to come from its arguments and from other
// durable operations. A clock, a random number, a goroutine or the order of a map does not.
//
// # How it looks
//
// Analyzer works on one package at a time, on its syntax and types. It makes a tree of the package's functions and function literals,
// and gives each literal a role, from what it takes and what it is given to (tree.go). Then it finds out which of them perform durable
// operations, directly or through others of the package, until nothing new is found (operation.go). Only those are looked at
// (rules.go), and not what they give to Step and StepTx, which may do anything but perform durable operations.
//
// What it cannot see it takes to be right: what other packages do with a run that they are given, what is called through an interface or
// a variable that is assigned more than once, and what helpers do that perform no operation. A literal that takes a context.Context
// is taken to be on its way to a Step unless it is called where it stands. A finding is to be worth reading.
//
// The names of the operations and of what they replace are tables, in names.go. A test compares them with the root package, so that an
// operation that is added there is not forgotten here.
//
// # Imports
//
// Nothing of ours: the library is known by its path and its names. No other package imports golang.org/x/tools.
package vet
