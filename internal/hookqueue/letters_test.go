package hookqueue_test

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/hooks"
	"github.com/holdfastdev/holdfast/internal/hookqueue"
	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// slowGroups takes a while to answer which groups there are: all that it is asked for but those
// with an even fingerprint are as old as the test.
type slowGroups struct {
	store.Store

	began time.Time
	asked int
}

func (s *slowGroups) DeadGroups(ctx context.Context, p store.DeadParams) (page store.DeadPage, err error) {
	s.asked++
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return page, ctx.Err()
	}
	for _, fingerprint := range p.Filter.Fingerprints {
		g := store.DeadGroup{Kind: p.Filter.Kinds[0], Fingerprint: fingerprint, FirstSeen: s.began}
		if fingerprint%2 == 0 {
			g.FirstSeen = time.Now()
		}
		page.Groups = append(page.Groups, g)
	}
	return page, nil
}

func fail(q *hookqueue.Queue, fingerprint int64) {
	q.Ended(&store.Outcome{State: store.Failed, Final: store.Failed, Namespace: "default", Fingerprint: fingerprint},
		logs.About{Kind: "k"}, 0)
}

// TestDeadLettersHoldUpNoOtherEvents: the store is asked about new groups apart from what else is
// told, and about many at once. Nothing is dropped in a storm of them.
func TestDeadLettersHoldUpNoOtherEvents(t *testing.T) {
	const groups, each = 500, 4
	synctest.Test(t, func(t *testing.T) {
		var started, finished, letters, news int
		h := hooks.Hooks{
			Started:  func(hooks.Started) { started++ },
			Finished: func(hooks.Finished) { finished++ },
			DeadLetter: func(l hooks.DeadLetter) {
				letters++
				if l.New {
					news++
				}
				if l.New && l.Fingerprint%2 != 0 {
					t.Errorf("group %d is not new", l.Fingerprint)
				}
			},
		}
		st := &slowGroups{Store: model.New(time.Now), began: time.Now()}
		time.Sleep(time.Minute)
		q := hookqueue.New([]hooks.Hooks{h}, st, logs.NewLimiter(slog.New(slog.DiscardHandler)))
		for i := range groups * each {
			for range 20 {
				start(q)
			}
			fail(q, int64(i%groups+1))
			synctest.Wait()
		}
		if started != 20*groups*each || finished != groups*each {
			t.Errorf("%d starts and %d ends were told before the store has answered", started, finished)
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if letters != groups*each || news != groups/2 {
			t.Errorf("%d dead letters were told, and %d new groups", letters, news)
		}
		if st.asked > 5 {
			t.Errorf("the store was asked %d times", st.asked)
		}
		q.Close()
		if n := q.Dropped(); n != 0 {
			t.Errorf("%d events were dropped", n)
		}
	})
}

// TestCloseTellsDeadLetters: those that the store is being asked about are told, too.
func TestCloseTellsDeadLetters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		letters := 0
		st := &slowGroups{Store: model.New(time.Now), began: time.Now()}
		q := hookqueue.New([]hooks.Hooks{{DeadLetter: func(hooks.DeadLetter) { letters++ }}}, st, logs.NewLimiter(slog.New(slog.DiscardHandler)))
		fail(q, 1)
		time.Sleep(time.Second / 2)
		fail(q, 1)
		time.Sleep(time.Second / 4)
		q.Close()
		if n := q.Dropped(); letters != 2 || n != 0 {
			t.Errorf("%d of 2 were told, %d dropped", letters, n)
		}
	})
}
