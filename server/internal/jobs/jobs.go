// Package jobs has the operations of the API on jobs.
//
// # Imports
//
// Of ours, the root package and those beside it whose options jobs are enqueued with,
// internal/cli/views, internal/journal, store, and server/internal/api with what that stands on.
package jobs

import "github.com/holdfastdev/holdfast/server/internal/api"

// Register registers the operations.
func Register(a *api.API) {
	registerEnqueue(a)
	registerRead(a)
	registerChange(a)
	registerEdit(a)
}
