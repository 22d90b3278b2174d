package grants

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/slots"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

const (
	calm = 250 * time.Millisecond // between two looks where there are no limits

	wantedFor = 10 * time.Second // after a node has said that it wants slots, which it repeats

	away = 500 * time.Millisecond // before a call after an error

	// Reading thousands of limits takes long: then they are read for a change only when so many
	// times as long has passed, or as without a change.
	loadShare = 10
	slowLoad  = 5 * time.Millisecond
)

// Parts are what the loop stands on.
type Parts struct {
	Store     store.Store
	Slots     *slots.Slots
	Namespace string
	// Node is the present id of the node, and Dead is called if the store says that it is dead.
	Node func() int64
	Dead func(ctx context.Context, id int64)
	// Every is how often the loop looks without a reason.
	Every func() time.Duration
	// Free is called when jobs may be claimed that could not before, or others want slots; Look, if
	// jobs were looked for in vain as limits were others.
	Free, Look func()
	// Turn is called after each turn.
	Turn   func()
	Outage *logs.Outage
}

// Loop is the loop of one node.
type Loop struct {
	Parts

	changed chan struct{}
	call    atomic.Int64 // number of the last ask

	gap    gap
	loaded time.Time     // when the limits were read last
	took   time.Duration // how long that took
}

// New makes a loop.
func New(p Parts) *Loop { return &Loop{Parts: p, changed: make(chan struct{}, 1)} }

// Heard takes in a wake-up. It does not block.
func (l *Loop) Heard(w store.Wake) {
	switch w.Kind {
	case store.WakeSlotsWanted:
		if l.Slots.Wanted(w.Queue, l.Store.Now()) {
			supervise.Signal(l.changed) // the part of the node may be less now
		}
		l.Free() // it is to be found out whether more jobs need the slots
	case store.WakeSlotsFree:
		l.Slots.Freed(w.Queue)
	case store.WakeLimit, store.WakeAll:
		supervise.Signal(l.changed)
	default: // about something else
	}
}

// Load takes over the limits as they are now.
func (l *Loop) Load(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	limits, err := l.Store.Limits(call, l.Namespace, "")
	if err != nil {
		return err
	}
	if l.Slots.SetLimits(limits) {
		l.Look()
	}
	now := l.Store.Now()
	for i := range limits {
		held := 0
		for _, h := range limits[i].Holders {
			held += h.Slots
		}
		if held < limits[i].Slots() {
			l.Slots.Freed(limits[i].Name)
		}
		// It may have been this node, or the clock was set; then it gives back what it does not
		// use, and nothing else happens.
		others := slices.ContainsFunc(limits[i].Wishes, func(w store.Holder) bool { return w.Node != l.Node() })
		if at := limits[i].WantedAt; others || !at.IsZero() && now.Sub(at).Abs() < wantedFor {
			l.Slots.Wanted(limits[i].Name, now)
			l.Free()
		}
	}
	return nil
}

// Run sees to the slots until ctx ends.
func (l *Loop) Run(ctx context.Context) {
	timer := time.NewTimer(l.Every())
	defer timer.Stop()
	for {
		load := true
		select {
		case <-ctx.Done():
			return
		case <-l.changed:
			if wait := l.untilLoad(); wait > 0 {
				timer.Reset(wait)
				load = false
			}
		case <-l.Slots.AsksWait():
			load = false
		case <-timer.C:
		}
		began := time.Now()
		if load {
			err := l.Load(ctx)
			l.loaded, l.took = time.Now(), time.Since(began)
			if err != nil {
				l.fail(ctx, err)
				timer.Reset(l.Every())
				continue
			}
			timer.Reset(l.Every()) // which is shorter where there are limits
		}
		if err := l.ask(ctx); err != nil {
			l.fail(ctx, err)
			supervise.Signal(l.changed)
		}
		l.Turn()
		now := time.Now()
		wait := l.gap.after(now.Sub(began), now)
		if load && !l.Slots.IsLimited() {
			wait = calm // on SQLite each write of another process is a reason to look
		}
		supervise.Sleep(ctx, wait)
	}
}

// untilLoad is how long to wait until limits are read again because they may have changed: no
// longer than they are left alone without a change, also if the last time took seconds in an
// outage.
func (l *Loop) untilLoad() time.Duration {
	if l.took < slowLoad {
		return 0
	}
	return min((loadShare-1)*l.took, l.Every()) - time.Since(l.loaded)
}

func (l *Loop) fail(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	l.Outage.Failed(logs.CallLimits, err)
	supervise.Sleep(ctx, away)
}

// ask asks for slots, or gives some back, if there is a reason to.
func (l *Loop) ask(ctx context.Context) error {
	node := l.Node()
	asks := l.Slots.Asks(node, l.Store.Now())
	if len(asks) == 0 {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	told := false
	defer func() {
		if !told { // whatever has become of the call: it may have panicked
			l.Slots.Granted(node, asks, nil)
		}
	}()
	answer, err := l.Store.Grant(call, store.GrantParams{Node: node, Call: l.call.Add(1), Asks: asks, Tell: true})
	if err != nil {
		if errors.Is(err, store.ErrNodeDead) {
			l.Dead(ctx, node)
			return nil
		}
		return err
	}
	if answer == nil {
		answer = []store.Grant{}
	}
	l.Outage.Succeeded(logs.CallLimits)
	told = true
	freed, short, stale := l.Slots.Granted(node, asks, answer)
	l.tell(store.WakeSlotsFree, freed)
	l.tell(store.WakeSlotsWanted, short)
	if stale {
		supervise.Signal(l.changed)
	}
	l.Free()
	return nil
}

// tell tells the nodes of other processes: of this one no other serves the namespace.
func (l *Loop) tell(kind store.WakeKind, limits []string) {
	for _, name := range limits {
		l.Store.Notify(store.Wake{Kind: kind, Namespace: l.Namespace, Queue: name})
	}
}
