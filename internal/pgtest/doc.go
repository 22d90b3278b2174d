// Package pgtest provides a temporary PostgreSQL server for tests.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		url, schema := pgtest.Shared(t).Schema(t)
//		…
//	}
//
// # What it does
//
// Shared starts one cluster for the test binary, when the first test asks for it. It looks for
// initdb and postgres in the directory HOLDFAST_TEST_POSTGRES_BIN, on the PATH, by pg_config, and
// where Debian, Homebrew and a build from source put them. The server listens only on a Unix socket
// in a directory of its own, does not sync to the disk, and belongs to an unprivileged user if the
// tests run as root.
//
// If HOLDFAST_TEST_DATABASE is set, the server of that URL is used instead, and what tests create
// there is dropped after them.
//
// Without either, tests are skipped with a message that says what is missing; if CI is set they
// fail, so that a pipeline cannot pass without testing. Tests always fail if a configured server
// does not answer, or if configured programs are missing or programs do not work.
//
// Where scripts/test runs the tests, one cluster serves all packages (Serve, and
// HOLDFAST_TEST_CLUSTER): each test binary has databases of its own there, and drops them at its
// end.
//
// Private starts a cluster for one test, which may stop and restart it, and set variables in the
// environment of its server. It needs the programs even if HOLDFAST_TEST_DATABASE is set.
//
// Private clusters can have standbys (Standby), which are promoted when the primary was killed
// (Kill, Promote), and PgBouncer in front of them (Pooler).
//
// # Cleanup
//
// Main stops the cluster and removes its files. A watchdog, a shell that waits for the end of a
// pipe from the test binary, does the same if the binary is killed or exceeds its timeout.
//
// # Imports
//
// This package imports pgx, and no other package of Holdfast.
package pgtest
