// Package remote is a store behind a server: holdfast.Open with it is a full client, for a program
// that has no way to the database itself, or no password of it.
//
//	hf, err := holdfast.Open(ctx, remote.Server("https://jobs.example.com", os.Getenv("HOLDFAST_TOKEN")))
//
// Everything works as with the database: enqueues, handlers, durable functions, lists, and all that
// people do. It needs a credential with the scope "store", by which a program can do what it could
// with a password of the database.
//
// # What needs the database itself
//
// Transactions of the caller: EnqueueTx, and whatever else takes one, is ErrInvalid. So is what
// makes or changes the schema, which is the server's to do.
//
// # When the server does not answer
//
// Calls are ErrUnavailable, as if the database had not answered, and are repeated by the rules of
// the contract: what was stored is recognised. Nothing is repeated here: a request that was sent
// may have been served. It makes no difference which server of a database answers, so that several
// may stand behind one address, and any may be killed. Nodes live on meanwhile: a server that is
// gone is to them as a database that is gone.
//
// # Time
//
// Now is the clock of the server's store: what a call has answered, and the time since then by this
// machine's monotonic clock. It is asked for again each minute, and after this machine has slept.
//
// # Imports
//
// Of ours, store and internal/wire; beside these the standard library alone.
package remote
