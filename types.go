package holdfast

import "github.com/holdfastdev/holdfast/store"

// ID names a job: a UUIDv7, made by the client. Everything else that the client returns of the
// database has the types of package store, such as Record, State, Filter and Queue.
type ID = store.ID
