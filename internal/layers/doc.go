// Package layers holds the tests that keep the shape of the tree: which package may import which,
// who may know a database driver, how long a file, a function and a statement may be, and what
// docs/architecture.md says of the way through the code. It has no code of its own.
//
// Imports point downwards only:
//
//	cmd → internal/cli → holdfast → internal/engine → store
//
// A store never imports the engine, the engine never sees SQL, and a program links only the
// databases whose packages it imports. The tables in table_test.go say it package by package.
package layers
