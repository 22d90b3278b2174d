// Package dead is for dead letters: jobs that have failed for good. It groups them by what their
// failures have in common, and lets all of a group, or of a filter, run again, with other args, in
// another queue and at a rate; removes them; and exports them.
//
// A dead letter is a failed job, no more: it is found by Client.Get, kept as long as retention
// says, and retried like any other. A group is its kind and its fingerprint, which is the same for
// failures that have one reason and errors that are alike, whatever numbers, ids, times, addresses
// and quoted names they have. The rules have a version, which is part of the fingerprint: where a
// new release changes them, failures from then on are in groups of their own, beside those from
// before.
//
// What goes over many jobs does so in the foreground, in bounded pages, from the last failure to
// the first, and may be called again after it was interrupted. Each job is changed as a whole or
// not at all, and only if it has still failed then: so one that another caller retries meanwhile is
// left alone, and one that fails once more while it goes on is not taken twice.
//
// # Imports
//
// Of ours, the root package, internal/access, internal/journal and store.
package dead
