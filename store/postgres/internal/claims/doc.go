// Package claims hands jobs to nodes.
//
// # How it works
//
// A claim is one statement: it looks at the lanes where there is work, from the cursors on that
// package local keeps, takes pointers, and writes the claim records. If that is not enough it is
// done a second time, where it has not looked. One whose answer was lost is found by its number.
//
// # Who waits for whom
//
// A claim locks the row of its node, if that is alive, and then takes pointers, passing over those
// that others are taking. It leaves no versions of its node's row behind.
//
// # When it fails
//
// Nothing of a statement that fails has happened. What the first part of a claim has taken is told
// when the claim is repeated.
//
// # Imports
//
// Package store, packages pg and local, and pgx.
package claims
