// Package terms holds the test that keeps the words of docs/terms.md: what people read, in help, errors, logs and pages,
// says one word for one thing. It has no code of its own.
package terms
