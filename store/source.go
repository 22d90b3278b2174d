package store

import "context"

// Source says where a store is and how to open it. sqlite.File, postgres.URL, postgres.Pool and
// postgres.DB return one. A program links only the databases whose packages it imports.
type Source interface {
	// Open opens the store, bringing its schema up to date first unless the source was told not to.
	Open(ctx context.Context) (Store, error)
	// Migrate brings the schema up to date. Any number of processes may do so at once.
	Migrate(ctx context.Context) (Schema, error)
	// Schema tells which version the database has. It changes nothing.
	Schema(ctx context.Context) (Schema, error)
	// Migrations returns the migrations as SQL that a person can review and run, in order. It opens
	// nothing.
	Migrations() []Migration
	// String describes the source for people, without its password.
	String() string
}

// Migration is one numbered step of the schema. Both stores use the same numbers and names.
type Migration struct {
	Version int
	Name    string
	SQL     string
}

// Schema is the state of a database.
type Schema struct {
	Version int // applied; 0: nothing of ours is there
	Latest  int // that this program knows
}
