// Package clients is where clients in other languages are: python and typescript, whose packages
// need the standard library of Python and of Node alone. They are made of the HTTP API of the
// server (docs/server.md, docs/workers.md) and of nothing else. Here are the tests that run theirs
// against a real server.
package clients
