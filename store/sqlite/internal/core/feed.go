package core

import (
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// feedRow is how many changes a row of the feed has at the most.
const feedRow = 1000

// told is what a transaction has to tell in the feed.
type told struct {
	ids     []byte
	states  []byte
	reasons []string // nil: no change has one
}

// Tell notes that a job has arrived in a state, in the order in which that happens. It is written
// with all others at the end of the transaction, if the feed is on.
func (t *Tx) Tell(id store.ID, state store.State) { t.TellEnd(id, state, "") }

// TellEnd is Tell with the reason of an end.
func (t *Tx) TellEnd(id store.ID, state store.State, reason store.Reason) {
	f := &t.told
	f.ids, f.states = append(f.ids, id[:]...), append(f.states, byte(state))
	if reason != "" && f.reasons == nil {
		f.reasons = make([]string, len(f.states)-1)
	}
	if f.reasons != nil {
		f.reasons = append(f.reasons, string(reason))
	}
}

// HowMuchTold is how many changes were told, for Untell.
func (t *Tx) HowMuchTold() int { return len(t.told.states) }

// Untell takes back what was told since, as it was rolled back.
func (t *Tx) Untell(n int) {
	f := &t.told
	f.ids, f.states = f.ids[:n*len(store.ID{})], f.states[:n]
	if f.reasons != nil {
		f.reasons = f.reasons[:n]
	}
}

// FeedStatus tells whether the feed is on.
func (t *Tx) FeedStatus() (status store.FeedStatus, err error) {
	s := t.Stmt("feed_status")
	on, err := s.Next()
	if err != nil || !on {
		return status, err
	}
	life, oldest, newest := s.ReadInt(), s.ReadInt(), s.ReadInt()
	s.Done()
	return store.FeedStatus{
		On: true, Since: db.TimeOf(life),
		Oldest: store.FeedPosition{Life: life, Count: oldest}, Newest: store.FeedPosition{Life: life, Count: newest},
	}, nil
}

// writeFeed writes what was told.
func (t *Tx) writeFeed() error {
	f := t.told
	t.told = told{}
	if len(f.states) == 0 {
		return nil
	}
	status, err := t.FeedStatus()
	if err != nil || !status.On {
		return err
	}
	first := status.Newest.Count + 1
	for from := 0; from < len(f.states); from += feedRow {
		to := min(from+feedRow, len(f.states))
		s := t.Stmt("feed_put")
		s.BindInt(first + int64(from))
		s.BindInt(int64(to - from))
		s.BindInt(t.Now)
		s.BindBlob(uniform(f.states[from:to]))
		s.BindBlob(f.ids[from*len(store.ID{}) : to*len(store.ID{})])
		if f.reasons != nil {
			s.BindText(strings.Join(f.reasons[from:to], "\n"))
		} else {
			s.BindNull()
		}
		if err := db.Exec(s); err != nil {
			return err
		}
	}
	return nil
}

// uniform is one of the states if they are all the same.
func uniform(states []byte) []byte {
	for _, state := range states {
		if state != states[0] {
			return states
		}
	}
	return states[:1]
}
