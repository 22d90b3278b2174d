// Package tail reads the end of the feed of changes once for all readers of a process.
//
//	tail   what was read last, and who reads next
//
// # How it works
//
// The tail has no goroutine. A reader that has read all there is waits for the next round, and if
// there is none, it begins one itself: it waits for a moment, gives positions to what has
// committed, and reads what comes after the last change that is known. All readers that wait
// meanwhile get the same changes. So a hundred readers cost the database what one costs, and none
// cost nothing.
//
// What was read last is kept, at least Kept changes of it. A reader that is farther behind, since
// it comes late or is slow, reads its own pages until it has caught up; no change is left out for
// it. If what it needs is not kept in the database any more it gets the *store.FeedResetError of
// its position.
//
// # When it fails
//
// An error of a round goes to all who wait for it, who may ask again. A reader whose context ends
// in the middle of its round ends that; one of the others begins the next.
//
// # Imports
//
// Of ours, store.
package tail
