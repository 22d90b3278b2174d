// Package terms tests the project against its glossary, docs/terms.md: help, errors, logs and pages
// use one word for one thing, each term occurs, and comments are in plain English. It has no code
// of its own.
package terms
