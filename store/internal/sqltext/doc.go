// Package sqltext reads the SQL of the stores, which stands in files, and renders it once, when a
// program opens its first store: all programs that link a store, and never open one, would pay for
// it at their start. What a reader sees has names; what the database sees has numbers. A call pays
// nothing for it.
//
// # Files
//
// A file holds statements and fragments, each under its name, up to the next name. What stands
// before it is its comment.
//
//	-- Takes the lease of a node that is silent.
//	-- name: node_end
//	-- params: @node bigint, @clock bigint
//	UPDATE node SET dead_at = clock(@clock) WHERE id = @node;
//
// Comments are for people: none of them is sent to the database, wherever it stands. What is
// between single quotes is the database's, but for {names}.
//
// # Parameters
//
// A statement declares its parameters in "-- params:" lines, one or more, in the order in which Go
// passes them. What is declared has to be used, and what is used declared; a mistake shows when the
// first store is opened. Two forms are known:
//
//   - Numbered, for PostgreSQL. @node becomes $1::bigint wherever it stands. The type is declared
//     once, and every use has it: a driver that does not ask the database then sends what was
//     meant.
//   - InOrder, for SQLite. @node becomes ?, which every driver knows, also those of callers'
//     transactions. So each is used once, in the order declared. There are no types. A statement
//     in which each ? stands beside its column may use them bare, and declare nothing.
//
// # Names
//
// {running} is the number of a state, {message_signal} that of a kind of message: Codes takes them
// from package store, and a store adds its own bits. {cancel_seen|contradicts} is the number that
// has the bits of both. A name may also stand for a list, as {named_entries} does. Names that are
// only known later, such as that of a schema, are left as they are (Options.Later).
//
// # Fragments
//
// What several statements share is written once, under "-- fragment: name", and put where {{name}}
// stands, in any file. A fragment may use others. Its parameters are those of the statement that it
// is put into, which declares them.
//
// # Rows
//
// {rows: (@id, @lane)} is as many rows of VALUES as Options.Rows says, of parameters in order.
//
// # Migrations
//
// Migrations reads the steps of a schema. Their text is not touched: they are released, and people
// run them by hand.
//
// # Imports
//
// Package store, for its codes.
package sqltext
