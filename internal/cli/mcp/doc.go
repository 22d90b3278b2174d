// Package mcp has the verb "mcp": the API as tools of the Model Context Protocol, over standard
// input and output, for assistants.
//
//	document   the operations of the API, as its OpenAPI document has them
//	tool       what a tool says of an operation
//	request    the request that the arguments of a tool make
//	caller     sends it: to a server, or to the API of this process on a database
//	lines      standard input, of which each line is a message, and standard output
//	connection goes on after lines that are no messages, and ends when all is answered
//	command    the verb
//
// # Guarantees
//
// There is a tool for each operation that reads and answers with JSON, and with --allow-writes for
// those that change something. A tool makes one request of its operation and no other: names in
// arguments cannot lead to another path, and redirects are not followed. What it answers is what
// the API has answered. What is refused is an error of the tool, with the problem of the API, which
// an assistant can read; it is not one of the protocol.
//
// A line that is no JSON, or no message, is answered with an error of JSON-RPC and ends nothing.
// When standard input has ended, what was asked before is answered, and the command ends then; on
// an interrupt it ends at once.
//
// There are no tools for keys, namespaces and the protocol of workers: what gives rights, and what
// holds leases, is not for assistants. On a database the API has the scopes that the flags say, so
// that args and results are not shown without --payloads; on a server those of the token count.
//
// # Imports
//
// Of ours, the root package, server, server/access, and of internal/cli app and arg. It alone
// imports the protocol's library.
package mcp
