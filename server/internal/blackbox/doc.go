// Package blackbox holds the tests of the server as its users meet it: the command in a process of
// its own, spoken to by HTTP, on both databases. It has no code of its own.
//
// What there is to be asked it reads from the document that the server answers (/openapi.json), so
// a new operation is asked as well, and cannot be forgotten:
//
//	right    the examples of the document are a story, which is told from its begin to its end:
//	         each operation occurs in it, and answers as it says
//	wrong    each operation is asked without and with the wrong credential, from other web sites,
//	         for other hosts, with bodies, parameters and paths that cannot be
//	forged   leases, workers, callbacks and cursors that the server has not made, or has made for
//	         others
//	raw      what no HTTP library sends
//
// All that is refused is refused with a problem document that says so, of the right status and
// code; nothing is ever answered by 500, and nothing panics.
package blackbox
