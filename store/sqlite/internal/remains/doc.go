// Package remains has what remains of what was removed: stubs of jobs that were archived, and by
// which programs nodes have run whose rows are gone. It imports core, db and store, and
// store/internal/kept.
package remains
