package slots

import (
	"maps"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// limit is the node's account of one limit: the slots of it that the node holds, and what they are
// used for. It is guarded by Slots.mu.
type limit struct {
	store.Limit
	heaviest int    // the most slots that one job takes
	meter    *meter // of its rate, if it has one

	held int // slots that the node holds
	keep int // the most of them that it uses while it asks for others; notAsking
	back int // what it needed when it began to give some back; notAsking

	used     int // by jobs that are claimed, until it is stored how their runs ended
	reserved int // by jobs of enqueues in progress
	claiming int // by those that a claim under way may take
	doubtful int // by those that a claim may have taken which was cut off

	needs       int       // for how many more there may be jobs that could run, when that was last looked at
	usable      int       // that it holds of these, as far as other limits let it use them
	saved       int       // that are free, and are kept for a job that needs more of them
	unsure      bool      // an ask was not answered: the node may hold more than it knows
	excess      int       // how many the store says that it holds, if it knows of fewer
	short       bool      // the last ask got less than that: it is no use to ask again at once
	askedAt     time.Time // the last ask for more
	over        bool      // the nodes hold more than there are
	wantedUntil time.Time // until when others want slots, as far as they have said
	owed        bool      // they have said so, and the node has given back none since

	share fairShare // of a fair limit

	groups   int           // of queues whose jobs count
	isLive   bool          // the loops look at it
	idle     bool          // when it was looked at last there were no groups
	idleFrom time.Duration // since when, as Slots.elapsed
	unneeded bool          // that was long, or no job of the node counts any more
}

// notAsking is the keep of a limit that is not asked about.
const notAsking = -1

// contention is how long slots that are not used are given back after another node has said that it
// wants some, and until some were: jobs may use all of them for longer. It says so again while that
// lasts.
const contention = 12 * time.Second

// repeats is after how long a node asks again that got too few, if it looks then.
const repeats = contention / 3

// taken is how many slots are in use, or may be in a moment.
func (l *limit) taken() int { return l.used + l.reserved + l.claiming + l.doubtful }

// room is how many slots jobs may take now.
func (l *limit) room() int {
	if l.Uncapped {
		return l.Slots()
	}
	return max(l.most()-l.taken(), 0)
}

// most is how many slots jobs may take in all: none while the nodes hold more than there are. What
// the node does not use it gives back, and may then be told to use.
func (l *limit) most() int {
	switch {
	case l.Uncapped:
		return l.Slots()
	case l.over:
		return 0
	}
	most := l.held
	if l.keep != notAsking {
		most = min(most, l.keep)
	}
	if l.Fair {
		most = min(most, l.share.part)
	}
	return most
}

// weightOf is how many slots a job of a class takes. The queue and the kind are "" where limits do
// not tell them apart.
func (l *limit) weightOf(queue, kind string) int {
	if len(l.Queues) > 0 && queue == "" || len(l.Kinds) > 0 && kind == "" {
		return 0
	}
	return l.Weight(queue, kind)
}

// surplus is how many slots the node is to give back: that it cannot use, and others want, or that
// are more than there are. It cannot use slots if it lacks those of another limit: so two nodes do
// not wait for each other.
func (l *limit) surplus(now time.Time) int {
	switch {
	case l.Uncapped && l.unsure:
		return max(l.held, 1)
	case l.Uncapped:
		return l.held
	case l.unneeded:
		return max(l.held-l.taken(), 0)
	case l.over:
		return max(l.held-l.taken(), 0) // the store says how many of them may be used
	case now.Before(l.wantedUntil) || l.owed || l.overPart():
		return max(l.held-l.taken()-l.usable, 0)
	}
	return 0
}

// lacks is how many slots the node needs and does not hold.
func (l *limit) lacks() int {
	if l.Uncapped {
		return 0
	}
	return max(l.needs-max(l.held-l.taken(), 0), 0)
}

// mayGet reports whether it is of use to ask for slots.
func (l *limit) mayGet(now time.Time) bool {
	if l.over || l.overPart() || l.held >= l.Slots() {
		return false
	}
	return !l.short || now.Sub(l.askedAt).Abs() >= repeats
}

// isDone reports whether the node has nothing of the limit, and waits for nothing.
func (l *limit) isDone() bool {
	return l.held == 0 && l.taken() == 0 && l.keep == notAsking && !l.unsure && (l.meter == nil || !l.meter.asking)
}

// asksMore reports whether the node is to ask for slots that it lacks. If it has all of them it
// says so only of a fair limit, for its part.
func (l *limit) asksMore() bool {
	return l.lacks() > 0 && !l.short && !l.over && !l.overPart() && (l.Fair || l.held < l.Slots())
}

// sameCount reports whether the same jobs count, as much, by both settings.
func sameCount(a, b *store.LimitSettings) bool {
	return slices.Equal(a.Queues, b.Queues) && maps.Equal(a.Kinds, b.Kinds)
}

// heaviest is the most slots that a job takes.
func heaviest(l *store.LimitSettings) int {
	most := 1
	for _, weight := range l.Kinds {
		most = max(most, weight)
	}
	return most
}

// see takes over who holds slots, of which there may be too few since the capacity was lowered, and
// who wishes for some. The node is known by its id. If the store says that it holds more than it
// knows, the node says next what it holds: a database that has crashed may have lost that slots
// were given back. It reports what seeDrained does.
func (l *limit) see(now store.Limit, node int64) (isDrained bool) {
	l.Holders, l.Wishes = now.Holders, now.Wishes
	total := 0
	for _, h := range now.Holders {
		total += h.Slots
	}
	l.over = total > now.Slots()
	if held := slotsOf(&now, node); l.keep == notAsking && held > l.held {
		l.unsure, l.excess = true, held
	}
	l.seeShare(node)
	return l.seeDrained(&now)
}

// slotsOf is how many slots of a limit a node holds as the store says.
func slotsOf(l *store.Limit, node int64) int {
	for _, h := range l.Holders {
		if h.Node == node {
			return h.Slots
		}
	}
	return 0
}
