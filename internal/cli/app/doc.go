// Package app is one run of the holdfast command, as all its verbs know it: an App has the streams,
// the environment, the global flags, and the database that they name.
//
// A verb is a cobra command whose work is wrapped by Do: its context ends at the first signal, and
// its errors are told from those of the command line. An error ends the command with one line on
// standard error that says what to do (Explain), and with a code that is an interface (ExitCode).
// Data go through the Printer, and what people are told besides through Notef and Complain.
//
// A database that a verb opens must exist, and its schema is left alone. One that does not answer
// is given up after half a minute, or, by verbs that wait, asked again until it does (Outage). What
// the command line alone can have got wrong is refused before a database is opened (Rehearse).
//
// Of ours it imports the root package, store and store/dsn, and of internal/cli arg, output and
// shortlog.
package app
