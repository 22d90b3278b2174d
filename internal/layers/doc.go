// Package layers holds the tests that keep the shape of the tree: which package may import which,
// who may know a database driver, and how long a file may be. It has no code of its own.
//
// Imports point downwards only:
//
//	cmd → internal/cli → server → holdfast → internal/engine → store
//
// A store never imports the engine, the engine never sees SQL, the server never reaches round the
// root package, and a program links only the databases whose packages it imports. The tables in
// layers_test.go say the same exactly, and nothing else does.
package layers
