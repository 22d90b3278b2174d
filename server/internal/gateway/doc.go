// Package gateway serves the contract of a store (store.Store) over HTTP, for store/remote: a
// program that has no way to the database works with it as if it had.
//
// Each method is a POST of its parameters to /api/v1/store/METHOD, which is answered with its
// results; package internal/wire has the form of both. What the store has answered, errors
// included, has the status 200; any other is a problem document, and the store was not reached, or
// has not been heard of in time. What a method does is made from the contract by reflection, but
// for those that set something in what they are given (special.go), and the table that says which
// of them only read (methods.go).
//
// A principal with the scope "store" can do what a program with the password of the database can.
// There are no fences: a principal of some namespaces alone is refused.
//
// # What dies
//
// A server holds nothing for its clients but what is under way. A client whose answer is lost
// repeats the call as it would with a database, at this server or another one. Nodes belong to the
// database: a server that dies takes none with it.
//
// # Wake-ups
//
// What a client says with Notify is passed on to this process, to other processes and to the other
// clients, and what those say to it (package internal/relay).
//
// # Imports
//
// Of ours, the root package for a client, internal/access, internal/relay, internal/wire, store,
// and of the server access, guard and problem.
package gateway
