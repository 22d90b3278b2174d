// Package journal is the journal of a durable function as data: what its entries hold, and what can
// be told from them without the code that wrote them. It has no state.
//
//	data     what the entries of each kind hold
//	pack     how values are stored: as JSON, compressed if they are large
//	kinds    the names of entries and messages, for people and for files
//	token    the tokens of callbacks
//	points   up to where a journal is kept by a resume, and by a fork
//
// The data of entries is stored in databases. It may get more fields, and never other ones.
//
// # Imports
//
// Of ours, store and internal/usercode.
package journal
