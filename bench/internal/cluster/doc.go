// Package cluster starts a throw-away PostgreSQL server for measurements: with fsync, synchronous
// commit and full-page writes on, as a server that holds something dear has them, reachable through
// a socket in its own directory only. It is gone when the program has ended, however that came
// about.
package cluster
