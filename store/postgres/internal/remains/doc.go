// Package remains has what remains of what was removed: stubs of jobs that were archived, and by
// which programs nodes have run whose rows are gone. It imports pg and store.
package remains
