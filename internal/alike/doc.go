// Package alike tells errors that are alike from others: it takes out of the text of an error what
// varies from one failure to the next, such as ids, addresses, times and numbers.
//
// The rules are a table (rules.go), and testdata/errors.txt says what they make of errors as they
// really are. Text is a function of its argument alone, so it is the same in every process. Rules
// that make anything else of a text are another Version, which is part of every fingerprint: the
// failures of a program with new rules are in groups of their own, and those from before stay in
// theirs until they are retried or removed.
//
// # Imports
//
// None of ours.
package alike
