// Package saidonce finds what an error says twice, for tests of errors: each layer that wraps an
// error may add what the ones below it do not know, and nothing else.
//
// It imports nothing of ours.
package saidonce

import (
	"regexp"
	"slices"
	"strings"
)

// things are what an error names: an id, a name in quotes with what it is of, and the mark of the
// errors of Holdfast with their classes.
var things = regexp.MustCompile(`[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}` +
	`|\w+ "[^"]*"` +
	`|holdfast: ` +
	`|\b(?:invalid request|permission denied|not found|conflict|lease lost|node declared dead|database unavailable|` +
	`batch refused|database is read-only|disk full|schema does not fit|database deleted or replaced|store closed|` +
	`job cancelled|timed out|no heartbeat|node is shutting down|journal is full|job failed):`)

// words is how many words in a row are taken for a repetition.
const words = 4

// quoted is what an error repeats for its reader: an input, or a command to copy.
var quoted = regexp.MustCompile(`(^|[^\w] )"[^"]*"`)

// Twice returns what a text says twice, or "".
func Twice(text string) string {
	text = quoted.ReplaceAllString(text, "$1")
	seen := map[string]bool{}
	for _, thing := range things.FindAllString(text, -1) {
		if seen[thing] {
			return thing
		}
		seen[thing] = true
	}
	clear(seen)
	all := strings.Fields(text)
	for some := range slices.Values(rows(all)) {
		if seen[some] {
			return some
		}
		seen[some] = true
	}
	return ""
}

// rows are all sequences of a few words.
func rows(all []string) (list []string) {
	for i := 0; i+words <= len(all); i++ {
		list = append(list, strings.Join(all[i:i+words], " "))
	}
	return list
}
