// Command suite runs the tests of Holdfast: scripts/test and scripts/soak call it once they have
// installed what it needs.
//
// # Two tiers
//
// Every test is in one tier. A file that begins with "//go:build soak" holds soak tests; every
// other test is run by scripts/test, which continuous integration runs for each commit. A test of
// the first tier does not depend on how fast the machine is: it asserts nothing about elapsed time,
// does not sleep, and uses the programs and the PostgreSQL server that this command prepares. What
// cannot do that is a soak test: kills, failovers, clocks of servers, clients in other languages,
// random sequences for hours.
//
// # One run, one folder
//
// A run has a folder for databases, in memory where there is room, whose path is always the same.
// It starts one PostgreSQL server there, for all packages, and builds the programs that tests
// start. Both reach the tests through variables of the environment (internal/pgtest,
// internal/binaries). Since these do not change from one run to the next, and all is built with
// -trimpath, the go command finds the results of packages that did not change in its cache, in
// another clone, too: see stamp.
//
// # Flaky tests
//
// A test that fails is run again alone, twice. If it passes both times, the run passes, and says
// FLAKY and its name at the end; the file that CI_FLAKES names gets its output. Nothing else is
// ever retried.
//
// # Calls
//
// main → test, soak → stages → goTest → report. A stage is data, with what it may take on two quiet
// cores; being over that is said and fails nothing, since machines differ.
package main
