// Package outcome has the outcomes of attempts: those that a handler asks for with the error that
// it returns, and those of runs that do not come to an end of their own.
//
// # Imports
//
// Of ours, store, internal/blocked and usercode.
package outcome
