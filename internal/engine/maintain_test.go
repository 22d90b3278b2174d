package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/tally"
	"github.com/holdfastdev/holdfast/store"
)

// all are all duties.
var all = Duties{Rescue: true, Promote: true, Schedules: true, Settle: true, Retain: true}

// stranger joins as a node of another process, claims a job, and is not heard of again.
func (b *bed) stranger(deadAfter time.Duration) (node int64, job store.ID) {
	b.t.Helper()
	ctx := b.t.Context()
	node, err := b.st.Join(ctx, store.NodeInfo{Name: "stranger", Namespace: "default", Kinds: []string{"k"}, Slots: 1, DeadAfter: deadAfter})
	if err != nil {
		b.t.Fatal(err)
	}
	job = b.enqueue(b.job("k"))
	claimed, err := b.st.Claim(ctx, store.ClaimParams{Node: node, Namespace: "default", Kinds: []string{"k"}, Limit: 1})
	if err != nil || len(claimed) != 1 {
		b.t.Fatalf("%d jobs claimed, error %v", len(claimed), err)
	}
	return node, job
}

// kill lets the store know that two nodes are dead. The jobs of one of them are rescued.
func (b *bed) kill(first, second int64) {
	b.t.Helper()
	nodes, err := b.st.Nodes(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	p := store.RescueParams{Limit: 1}
	for i := range nodes {
		if id := nodes[i].ID; id == first || id == second {
			p.Dead = append(p.Dead, store.NodeBeat{Node: id, At: nodes[i].BeatAt})
		}
	}
	rescued, err := b.st.Rescue(b.t.Context(), p)
	if err != nil || len(rescued.Died) != 2 || len(rescued.Jobs) != 1 {
		b.t.Fatalf("%+v, error %v", rescued, err)
	}
}

func (b *bed) maintain(budget time.Duration, d Duties) Maintained {
	b.t.Helper()
	m, err := b.runner().Maintain(b.t.Context(), budget, d)
	if err != nil {
		b.t.Fatal(err)
	}
	if m.Node == 0 {
		return m
	}
	nodes, err := b.st.Nodes(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	for i := range nodes {
		if nodes[i].ID == m.Node && nodes[i].Ended != store.NodeLeft {
			b.t.Errorf("the node of the maintenance has not left: %v", nodes[i].Ended)
		}
	}
	return m
}

func TestMaintainRescuesTheJobsOfADeadNode(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		_, job := b.stranger(20 * time.Second)
		began := time.Now()
		m := b.maintain(time.Minute, all)
		if m.Died != 1 || m.Rescued != 1 || !m.Led || !m.Watched || m.Doubtful != 0 || m.More {
			t.Errorf("%+v", m)
		}
		if took := time.Since(began); took < 20*time.Second || took > 30*time.Second {
			t.Errorf("it took %v; a node is dead after 20 s", took)
		}
		if state := b.get(job).State; state == store.Running {
			t.Error("the job is still on the dead node")
		}
		if m := b.maintain(time.Minute, all); m.Died+m.Rescued != 0 || !m.Watched {
			t.Errorf("again: %+v", m)
		}
	})
}

// TestMaintainOfAShortBudgetRescuesNobody: it says that it could not tell, and the next one, which
// has more time, can.
func TestMaintainOfAShortBudgetRescuesNobody(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		_, job := b.stranger(20 * time.Second)
		began := time.Now()
		m := b.maintain(3*time.Second, all)
		if m.Died != 0 || m.Rescued != 0 || m.Watched || m.Doubtful != 1 || !m.More {
			t.Errorf("%+v", m)
		}
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
		if state := b.get(job).State; state != store.Running {
			t.Errorf("the job is %v", state)
		}
		time.Sleep(time.Minute) // its stamp is old by then, so watching for half of the time is enough
		began = time.Now()
		if m := b.maintain(time.Minute, all); m.Rescued != 1 {
			t.Errorf("later: %+v", m)
		}
		if took := time.Since(began); took > 16*time.Second {
			t.Errorf("later it took %v", took)
		}
	})
}

// TestMaintainDoesNotKillNodesThatBeatSlowly: a fleet may have been given more time than this
// program.
func TestMaintainDoesNotKillNodesThatBeatSlowly(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		node, job := b.stranger(10 * time.Minute)
		ctx, stop := context.WithCancel(b.t.Context())
		defer stop()
		go func() {
			for ctx.Err() == nil {
				_, _ = b.st.Beat(ctx, store.BeatParams{Node: node})
				select {
				case <-time.After(2 * time.Minute):
				case <-ctx.Done():
				}
			}
		}()
		m := b.maintain(15*time.Minute, all)
		if m.Died != 0 || m.Rescued != 0 || !m.Watched {
			t.Errorf("%+v", m)
		}
		if state := b.get(job).State; state != store.Running {
			t.Errorf("the job is %v", state)
		}
	})
}

// TestMaintainLeavesTheWatchToALeader: it does what is to be done now, and is quick.
func TestMaintainLeavesTheWatchToALeader(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		leader, err := b.st.Join(b.t.Context(), store.NodeInfo{Name: "leader", DeadAfter: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		beat, err := b.st.Beat(b.t.Context(), store.BeatParams{Node: leader, LeaderTTL: 10 * time.Second, Lead: true})
		if err != nil || !beat.Leader {
			t.Fatalf("it leads: %v, error %v", beat.Leader, err)
		}
		b.enqueue(b.job("k", func(e *store.Enqueue) { e.Delay = time.Second }))
		time.Sleep(2 * time.Second)
		stop := make(chan struct{})
		defer close(stop)
		go func() {
			for {
				select {
				case <-time.After(5 * time.Second):
				case <-stop:
					return
				}
				_, _ = b.st.Beat(b.t.Context(), store.BeatParams{Node: leader, LeaderTTL: 10 * time.Second, Lead: true})
			}
		}()
		began := time.Now()
		m := b.maintain(time.Minute, all)
		if m.Node != 0 || m.Led || m.Promoted != 1 || m.Doubtful != 0 || m.More {
			t.Errorf("%+v", m)
		}
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// TestMaintainAfterTheLeaderWasKilled: its lease is still there for a while.
func TestMaintainAfterTheLeaderWasKilled(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		node, job := b.stranger(20 * time.Second)
		beat, err := b.st.Beat(b.t.Context(), store.BeatParams{Node: node, LeaderTTL: 10 * time.Second, Lead: true})
		if err != nil || !beat.Leader {
			t.Fatalf("it leads: %v, error %v", beat.Leader, err)
		}
		if m := b.maintain(time.Minute, all); m.Died != 1 || m.Rescued != 1 || !m.Led || !m.Watched || m.More {
			t.Errorf("%+v", m)
		}
		if state := b.get(job).State; state == store.Running {
			t.Error("the job is still on the dead node")
		}
	})
}

// TestMaintainDoesOnlyWhatIsAsked, and goes on after one that fails.
func TestMaintainDoesOnlyWhatIsAsked(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Retain: store.Retention{Completed: time.Minute}}}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		done := b.enqueue(b.job("k"))
		b.wait(done)
		b.halt()
		due := b.enqueue(b.job("k", func(e *store.Enqueue) { e.Delay = time.Second }))
		time.Sleep(time.Hour)

		if m := b.maintain(time.Minute, Duties{Promote: true}); m.Promoted != 1 || m.Removed != 0 || m.Node != 0 {
			t.Errorf("promote: %+v", m)
		}
		if b.get(due).State != store.Available || b.get(done).State != store.Completed {
			t.Errorf("they are %v and %v", b.get(due).State, b.get(done).State)
		}
		b.stranger(20 * time.Second)
		boom := errors.New("boom")
		b.st.hook(func(p *probe) { p.onBeat = func() error { return boom } })
		m, err := b.runner().Maintain(b.t.Context(), 30*time.Second, Duties{Rescue: true, Retain: true})
		if err != nil || m.Removed != 1 || !m.More || m.Watched {
			t.Errorf("with a database that takes no beats: %+v, error %v", m, err)
		}
		b.st.hook(func(p *probe) { p.onBeat = nil })
	})
}

func TestMaintainBesideTheNodeOfThisProcess(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		b.handle("k", ok)
		b.run()
		if _, err := b.runner().Maintain(b.t.Context(), time.Minute, all); !errors.Is(err, store.ErrConflict) {
			t.Errorf("error %v", err)
		}
		b.wait(b.enqueue(b.job("k"))) // the node is as it was
	})
}

func TestNodeThatOnlyMaintains(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Maintains: true}}, func(b *bed) {
		_, job := b.stranger(20 * time.Second)
		b.run()
		time.Sleep(time.Minute)
		synctest.Wait()
		if state := b.get(job).State; state == store.Running {
			t.Error("a minute after its node died the job is still on it")
		}
		b.halt()
		b.handle("k", ok)
		if _, err := b.runner().Start(b.t.Context(), Stop{Hard: b.t.Context()}); !errors.Is(err, store.ErrInvalid) {
			t.Errorf("with a handler: %v", err)
		}
	})
}

// TestMaintainCountsWhatItRescues: a run that is taken from a dead node is lost, whoever takes it,
// and what makes it known does not look like that of another maintenance in the same minute.
func TestMaintainCountsWhatItRescues(t *testing.T) {
	for name, known := range map[string]bool{"after a watch": false, "of nodes that are known to be dead": true} {
		t.Run(name, func(t *testing.T) {
			inBed(t, Config{}, func(b *bed) {
				for range 2 {
					node, _ := b.stranger(20 * time.Second)
					if known {
						other, _ := b.stranger(20 * time.Second)
						b.kill(node, other)
					}
					if m := b.maintain(time.Minute, all); m.Rescued != 1 || m.Node == 0 {
						t.Errorf("%+v", m)
					}
				}
				if counted, _ := b.counted(); counted.Counts[tally.Lost] != 2 {
					t.Errorf("%d of 2 runs are counted as lost", counted.Counts[tally.Lost])
				}
			})
		})
	}
}

// TestMaintainGoesOnAfterARescue: what the rescue leaves to do now is done, too.
func TestMaintainGoesOnAfterARescue(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		_, job := b.stranger(20 * time.Second)
		m := b.maintain(time.Minute, all)
		if state := b.get(job).State; m.Rescued != 1 || m.Promoted != 1 || state != store.Available {
			t.Errorf("the job is %v; %+v", state, m)
		}
	})
}

// TestMaintainSaysWhatFailedBeforeTheTimeWasOver: the end of the budget hides no error.
func TestMaintainSaysWhatFailedBeforeTheTimeWasOver(t *testing.T) {
	boom := errors.New("boom")
	broken := func(st store.Store) store.Store { return failing{st, boom} }
	inBedOf(t, Config{}, broken, func(b *bed) {
		b.stranger(20 * time.Second)
		m, err := b.runner().Maintain(b.t.Context(), 3*time.Second, Duties{Rescue: true, Retain: true})
		if !errors.Is(err, boom) || !m.More || m.Doubtful != 1 {
			t.Errorf("%+v, error %v", m, err)
		}
	})
}

// TestMaintainThatCouldDoNothing: a database that is locked, or frozen, for all of the time is an
// error. That some of it was done, or that the caller has ended it, is none.
func TestMaintainThatCouldDoNothing(t *testing.T) {
	for _, c := range []struct {
		name     string
		store    locked
		duties   Duties
		patience time.Duration // of the caller; 0: more than the budget
		fails    bool
	}{
		{"all is locked", locked{promote: true, rescue: true}, Duties{Promote: true, Rescue: true, Retain: true}, 0, true},
		{"one had nothing to do", locked{promote: true}, Duties{Promote: true, Rescue: true}, 0, true},
		{"the first had nothing to do", locked{retain: true}, Duties{Promote: true, Retain: true}, 0, true},
		{"all had nothing to do", locked{}, Duties{Promote: true, Rescue: true}, 0, false},
		{"the caller ends it", locked{promote: true}, Duties{Promote: true}, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBedOf(t, Config{}, func(st store.Store) store.Store { c.store.Store = st; return c.store }, func(b *bed) {
				ctx, cancel := b.t.Context(), func() {}
				if c.patience > 0 {
					ctx, cancel = context.WithTimeout(ctx, c.patience)
				}
				defer cancel()
				m, err := b.runner().Maintain(ctx, 3*time.Second, c.duties)
				if m.More != (c.store.promote || c.store.retain) || c.fails != errors.Is(err, store.ErrUnavailable) || !c.fails && err != nil {
					t.Errorf("%+v, error %v", m, err)
				}
				const why = "nothing could be done within 3s, as the database is locked, does not answer or needs longer: "
				if c.fails && !strings.Contains(err.Error(), why) {
					t.Errorf("it says %q", err)
				}
			})
		})
	}
}

// locked is a store of which calls wait until their time is over.
type locked struct {
	store.Store

	promote, rescue, retain bool
}

func (l locked) Promote(ctx context.Context, limit int) (store.Promoted, error) {
	if !l.promote {
		return l.Store.Promote(ctx, limit)
	}
	<-ctx.Done()
	return store.Promoted{}, ctx.Err()
}

func (l locked) Rescue(ctx context.Context, params store.RescueParams) (store.Rescued, error) {
	if !l.rescue {
		return l.Store.Rescue(ctx, params)
	}
	<-ctx.Done()
	return store.Rescued{}, ctx.Err()
}

func (l locked) Retain(ctx context.Context, params store.Retention) (store.Retained, error) {
	if !l.retain {
		return l.Store.Retain(ctx, params)
	}
	<-ctx.Done()
	return store.Retained{}, ctx.Err()
}

// failing is a store that does not remove what is old.
type failing struct {
	store.Store

	err error
}

func (f failing) Retain(context.Context, store.Retention) (store.Retained, error) {
	return store.Retained{}, f.err
}

// TestJobsThatCannotBeRemovedAreArchivedOnceALook: not in a loop that fills the disk.
func TestJobsThatCannotBeRemovedAreArchivedOnceALook(t *testing.T) {
	files := 0
	keep := func(context.Context, store.Store, []store.EndedJob) error { files++; return nil }
	cfg := Config{Node: NodeConfig{Retain: store.Retention{Completed: time.Minute, Limit: 1}, Archive: keep}}
	inBedOf(t, cfg, func(st store.Store) store.Store { return taken{st} }, func(b *bed) {
		m, err := b.runner().Maintain(b.t.Context(), time.Minute, Duties{Retain: true})
		if err != nil || m.Removed != 0 || m.More || files != 1 {
			t.Errorf("%+v and %d files, error %v", m, files, err)
		}
	})
}

// taken is a store in which others have what is old.
type taken struct{ store.Store }

func (taken) Expired(context.Context, store.Retention) ([]store.EndedJob, bool, error) {
	return []store.EndedJob{{State: store.Completed}}, true, nil
}

func (taken) RemoveExpired(context.Context, []store.EndedJob) (int, error) { return 0, nil }

// TestMaintainThatWatchesTooShortly: a budget that is too small to tell which nodes live is no
// error of the database.
func TestMaintainThatWatchesTooShortly(t *testing.T) {
	inBed(t, Config{}, func(b *bed) {
		node, _ := b.stranger(20 * time.Second)
		if _, err := b.st.Beat(b.t.Context(), store.BeatParams{Node: node, LeaderTTL: time.Minute}); err != nil {
			b.t.Fatal(err)
		}
		for _, budget := range []time.Duration{10 * time.Millisecond, 100 * time.Millisecond, time.Second, 3 * time.Second} {
			m, err := b.runner().Maintain(b.t.Context(), budget, Duties{Rescue: true})
			if err != nil || !m.More || m.Doubtful != 1 {
				t.Errorf("within %v: %+v, error %v", budget, m, err)
			}
		}
	})
}
