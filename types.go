package holdfast

import "github.com/holdfastdev/holdfast/store"

// ID is the id of a job: a UUIDv7, made by the client. All other types of the client's results are
// those of package store, such as Record, State, Filter and Queue.
type ID = store.ID
