// Package web is the dashboard: the pages that people watch and mend jobs with.
//
// [Handler] serves the page and its script and style, which are in the program; nothing comes from
// elsewhere. They hold no data: a browser gets it by the HTTP API, as any other program does, with
// the credential of who uses it. So nothing here can do what the API does not allow, and the pages
// need no credential themselves.
//
//	handler, err := server.Handler(client, server.Options{Dashboard: pages, …})
//
// The source of the pages is in src, TypeScript with Preact, whose few files are in vendor; dist is
// what web/build makes of both, with Go alone:
//
//	go generate ./web
//
// # Imports
//
// Nothing of ours.
package web

//go:generate go -C build run .
