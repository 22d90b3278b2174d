// Package pgtest gives tests a PostgreSQL server that is gone when they are.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		url, schema := pgtest.Shared(t).Schema(t)
//		…
//	}
//
// # What it promises
//
// Shared starts one cluster for the test binary, when the first test asks for it, with the initdb and postgres that it
// finds: in the directory HOLDFAST_TEST_POSTGRES_BIN, on the PATH, by pg_config, or where Debian, Homebrew and a build from
// source put them. It listens on a Unix socket in a directory of its own and nowhere else, does not sync to the disk, and belongs
// to an unprivileged user (postgres, or else nobody) if the tests run as root.
//
// If HOLDFAST_TEST_DATABASE is set, the server of that URL is used instead, and whatever tests make there is dropped after them.
//
// Where there is neither, tests are skipped with a message that says what is missing; if CI is set they fail, so that a pipeline
// cannot pass by not testing. A server that was asked for and does not answer, programs that were named and are not there, and
// programs that are there and do not work fail the tests everywhere.
//
// Private starts a cluster for one test, which may stop and restart it, and may give its server an
// environment. It needs the programs, whatever HOLDFAST_TEST_DATABASE says.
//
// # When it fails
//
// Main stops the cluster and removes its files. A watchdog, a shell that waits for the end of a pipe from the test
// binary, does the same if the binary is killed or runs into its timeout.
//
// # Imports
//
// pgx, and nothing of ours.
package pgtest
