package model

import (
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/audited"
)

// feed is the feed of changes.
type feed struct {
	life    int64          // 0: it is off
	oldest  int64          // after which all that is kept comes
	changes []store.Change // that are kept
}

// status is what FeedStatus answers with.
func (f *feed) status() store.FeedStatus {
	if f.life == 0 {
		return store.FeedStatus{}
	}
	return store.FeedStatus{
		On: true, Since: time.UnixMicro(f.life).UTC(),
		Oldest: store.FeedPosition{Life: f.life, Count: f.oldest},
		Newest: store.FeedPosition{Life: f.life, Count: f.oldest + int64(len(f.changes))},
	}
}

// feedState tells that a job is in a state.
func (s *Store) feedState(j *job, state State, reason store.Reason, now time.Time) {
	f := &s.feed
	if f.life == 0 {
		return
	}
	f.changes = append(f.changes, store.Change{
		Position: store.FeedPosition{Count: f.oldest + int64(len(f.changes)) + 1}, At: now, Job: j.ID, State: state, Reason: reason,
	})
}

// feedStart takes back that a job is available which starts with its enqueue.
func (s *Store) feedStart(j *job) {
	f := &s.feed
	if n := len(f.changes) - 1; n >= 0 && f.changes[n].Job == j.ID && f.changes[n].State == store.Available {
		f.changes = f.changes[:n]
	}
}

// forgetChanges removes what was told too long ago, but for the last change.
func (s *Store) forgetChanges(keep time.Duration, now time.Time) {
	f := &s.feed
	for keep > 0 && len(f.changes) > 1 && now.Sub(f.changes[0].At).Abs() > keep {
		f.changes, f.oldest = f.changes[1:], f.oldest+1
	}
}

// awaitWriters waits until no open transaction has written. s.mu is held, but not while it waits.
func (s *Store) awaitWriters(ctx context.Context) error {
	for {
		at := slices.IndexFunc(s.open, func(t *transaction) bool { return len(t.wrote) > 0 })
		if at < 0 {
			return nil
		}
		ended := s.open[at].ended
		s.mu.Unlock()
		select {
		case <-ended:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return store.ErrBusy
		}
	}
}

// SetFeed implements store.Feed.
func (s *Store) SetFeed(ctx context.Context, on bool, actor string) (store.FeedStatus, error) {
	now, err := s.begin(ctx)
	if err != nil {
		return store.FeedStatus{}, err
	}
	defer s.mu.Unlock()
	if err := s.awaitWriters(ctx); err != nil {
		return s.feed.status(), err
	}
	if on != (s.feed.life != 0) {
		s.audit(now, audited.FeedSet(on, actor))
		s.feed = feed{}
		if on {
			s.feed.life = max(now.UnixMicro(), 1)
		}
	}
	return s.feed.status(), nil
}

// FeedStatus implements store.Feed.
func (s *Store) FeedStatus(ctx context.Context) (store.FeedStatus, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.FeedStatus{}, err
	}
	defer s.mu.Unlock()
	return s.feed.status(), nil
}

// OrderFeed implements store.Feed: what happens is in order.
func (s *Store) OrderFeed(ctx context.Context) error {
	_, err := s.FeedStatus(ctx)
	return err
}

// ReadFeed implements store.Feed.
func (s *Store) ReadFeed(ctx context.Context, params store.FeedParams) (store.FeedPage, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.FeedPage{}, err
	}
	defer s.mu.Unlock()
	if err := params.Check(); err != nil {
		return store.FeedPage{}, err
	}
	status := s.feed.status()
	if err := status.CheckFeed(params.After); err != nil {
		return store.FeedPage{}, err
	}
	from := int(max(params.After.Count-s.feed.oldest, 0))
	changes := slices.Clone(s.feed.changes[from:min(from+params.Limit, len(s.feed.changes))])
	for i := range changes {
		if j := s.jobs[changes[i].Job]; j != nil {
			changes[i].Namespace, changes[i].Queue, changes[i].Kind = j.Namespace, j.Queue, j.Kind
			if changes[i].State == store.Failed && j.state == store.Failed {
				changes[i].Fingerprint = j.likeness
			}
		}
	}
	return status.Page(params.After, changes), nil
}
