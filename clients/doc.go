// Package clients is where clients in other languages are: python, whose package needs the standard
// library alone. They are made of the HTTP API of the server (docs/server.md, docs/workers.md) and
// of nothing else. Here are the tests that run theirs against a real server.
package clients
