// Package output writes what the holdfast command has to say: data as JSON, lines of JSON or
// tables, and texts that fit on a line.
//
// A list of any length takes the memory of a thousand rows. What is written is kept until Flush,
// which tells of the error of any write. A list that breaks off stays broken: its array is left
// open, so that nobody takes a part for the whole.
//
// What goes to a terminal cannot control it: signs that would, and those that nobody sees, are
// written as blanks or numbers (OneLine), and in JSON as escapes. No text holds a password of an
// address (WithoutPasswords).
//
// It knows nothing of flags, jobs and databases, and imports the standard library alone.
package output
