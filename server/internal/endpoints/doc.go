// Package endpoints has the operations of the API on push endpoints and on webhooks.
//
// A secret is in the answer that makes it, and in no other. Of headers only the names are shown.
//
// # Imports
//
// Of ours, the root package, endpoint, internal/cli/views, store, and server/internal/api with what
// that stands on.
package endpoints
