package holdfast

import "github.com/holdfastdev/holdfast/store"

// ID is the id of a job: a UUIDv7, made by the client. What a store returns as it is has a type of
// package store, such as Record, State, Filter and Queue.
type ID = store.ID
