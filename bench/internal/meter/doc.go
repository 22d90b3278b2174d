// Package meter measures what work costs: time, the CPU of the client, of the database server and
// of everything else on the machine, write-ahead log, write transactions, dead tuples and
// statements.
//
// The client is this process and its children that have ended. The server's processes are found
// from the process of our own connection, if it is on this machine; with SQLite there is no server,
// and the bytes are what this process has written.
//
// Write transactions are counted by their ids, which are handed out when a transaction first
// writes; unlike the counters of pg_stat_database they are never late. Dead tuples are the rows
// that were updated or deleted. Their counters are late, so that they are read when the connections
// of the measured program are closed.
package meter
