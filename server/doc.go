// Package server is the HTTP API of a database: for people, programs, and the dashboard.
//
//	handler, err := server.Handler(hf, server.Options{Authenticate: access.Token("ops", token)})
//	http.ListenAndServe("127.0.0.1:8233", handler)
//
// All paths begin with /api/v1; /openapi.json describes them. "holdfast server" serves the same.
//
// # What it promises
//
// Whatever is answered with success is stored. What was lost on the way may be repeated: an enqueue
// with its id, and other changes as they are, since each of them does nothing the second time.
//
// # How it fails
//
// By application/problem+json, whose code is stable and says whether to repeat the request. What
// the server itself does wrong is in its log, under the id that the answer has.
//
// # Imports
//
// Of ours, the root package and its neighbours. No other package of Holdfast but the command line
// imports this one: a program that has only jobs links nothing of it.
package server
