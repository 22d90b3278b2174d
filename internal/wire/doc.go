// Package wire is the form in which values of the store's contract travel as JSON between a client
// and a server that may have different versions.
//
// Structs are objects of their exported fields, named in snake_case; a field that is zero is left
// out. Bytes are base64, times RFC 3339 in UTC (those of years that it has not are
// "@SECONDS.NANOSECONDS"), ids text, and integers of 64 bits and durations (nanoseconds) are
// decimal text. A text that is not UTF-8 is {"base64": …}, and maps are lists of pairs. Nil and
// empty lists differ: null and []; and so do a nil pointer and one to a nil list: null and
// {"nil":true}. The types' own MarshalJSON, which is for people, is not used. A reader ignores
// fields that it does not know, and takes those that are not there as zero.
//
// Errors travel with their text, all classes of package store that they are under errors.Is, and
// the typed errors of package store that errors.As finds in them.
//
// # Imports
//
// Of ours, store.
package wire
