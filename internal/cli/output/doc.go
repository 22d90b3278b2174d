// Package output writes the output of the holdfast command: data as JSON, lines of JSON or tables,
// and texts that fit on a line.
//
// A list of any length needs the memory of a thousand rows. Output is buffered until Flush, which
// returns the first error of any write. A list that breaks off stays invalid JSON: its array is
// left open, so that a part cannot be taken for the whole.
//
// Output cannot control a terminal: control characters and invisible ones are written as blanks or
// numbers (OneLine), and in JSON as escapes. No text contains a password of a URL
// (WithoutPasswords).
//
// It knows nothing of flags, jobs and databases, and imports only the standard library.
package output
