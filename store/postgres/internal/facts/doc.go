// Package facts is what nodes have counted and measured: rows of one table, fact, and what the
// server says of the database.
//
// # How it works
//
// A row belongs to no job. It is written by its key, so that a second write of the same changes
// nothing, in a transaction of its own that locks no row of another table.
//
// # When it fails
//
// All is as PostgreSQL said it. Package postgres gives errors their class. What the role may not
// see is left out.
//
// # Imports
//
// Package store, packages local and pg.
package facts
