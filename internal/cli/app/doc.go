// Package app has what all verbs of the holdfast command share: an App is one invocation, with the
// streams, the environment, the global flags, and the database that they name.
//
// A verb is a cobra command whose work is wrapped by Do: its context ends at the first signal, and
// its errors are told from those of the command line. An error ends the command with one line on
// standard error that says what to do (Explain), and with an exit code that is an interface
// (ExitCode). Data are written by the Printer, notes for the user by Notef and Complain.
//
// The database that a verb opens must exist, and its schema is not changed. If it does not answer,
// a verb gives up after half a minute; verbs that wait retry until it does (Outage). Mistakes that
// the command line alone can have made are found before a database is opened (Rehearse).
//
// What changes can be watched (WatchFlags): a verb that shows it does its ordinary work again and
// again, and what that prints is held back until it has come to its end.
//
// This package imports the root package, store and store/dsn, and of internal/cli arg, output and
// shortlog.
package app
