package dead

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// together is how long after the first failure of a group another one may still count as its
// first: the times of events and of failures are not quite the same.
const together = 5 * time.Second

// GroupOf returns the group of an event of the feed (package events) of a job that failed for good,
// as it is now, and whether it was new then: whether the first of its failures that the database
// has is this one, or came within five seconds before it. It costs the same however many jobs the
// group has. The errors are ErrConflict for an event that is not of a failed job, and ErrNotFound
// if no job of the group is left, or the event's job was removed before the event was read.
func GroupOf(ctx context.Context, c *holdfast.Client, event *store.Change) (group store.DeadGroup, isNew bool, err error) {
	switch {
	case event.State != store.Failed:
		return group, false, fmt.Errorf("%w: job %s is %v by this event: only what failed has a group", store.ErrConflict, event.Job, event.State)
	case event.Kind == "":
		return group, false, fmt.Errorf("%w: job %s was removed before the event was read: its group is unknown", store.ErrNotFound, event.Job)
	}
	page, err := Groups(ctx, c, store.DeadParams{Limit: 1, Filter: store.Filter{
		Namespace: event.Namespace, Kinds: []string{event.Kind}, Fingerprints: []int64{event.Fingerprint},
	}})
	if err != nil {
		return group, false, err
	}
	if len(page.Groups) == 0 {
		return group, false, fmt.Errorf("%w: no job of the kind %s that failed with fingerprint %s is left",
			store.ErrNotFound, event.Kind, store.FingerprintText(event.Fingerprint))
	}
	group = page.Groups[0]
	return group, !group.FirstSeen.Before(event.At.Add(-together)), nil
}
