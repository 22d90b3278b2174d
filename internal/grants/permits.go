package grants

import (
	"context"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/supervise"
	"github.com/holdfastdev/holdfast/store"
)

// soon is when it is looked again after a call, if nothing happens before.
const soon = time.Millisecond

// RunPermits sees to the permits of rates until ctx ends. Nothing happens there while no job waits
// that counts in a limit with a rate.
func (l *Loop) RunPermits(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		due := false
		select {
		case <-ctx.Done():
			return
		case <-l.Slots.PermitsWait():
		case <-timer.C:
			due = true
		}
		asks, sent, again := l.Slots.PermitAsks(l.Store.Now())
		if len(asks) > 0 {
			if err := l.askPermits(ctx, asks, sent); err != nil {
				l.fail(ctx, err)
			}
			again = soon // how things are then says when to look again
		}
		if due || len(asks) > 0 {
			l.Free()
		}
		timer.Stop()
		if again > 0 {
			timer.Reset(again)
		}
	}
}

// askPermits asks for permits, and gives some back.
func (l *Loop) askPermits(ctx context.Context, asks []store.PermitAsk, sent time.Duration) error {
	call, cancel := context.WithTimeout(ctx, store.CallTimeout)
	defer cancel()
	taken := false
	defer func() {
		if !taken { // whatever has become of the call: it may have panicked
			l.Slots.Permitted(asks, nil, sent)
		}
	}()
	answer, err := l.Store.TakePermits(call, asks)
	if err != nil {
		return err
	}
	taken = true
	if answer == nil {
		answer = []store.Permits{}
	}
	l.Outage.Succeeded(logs.CallLimits)
	if l.Slots.Permitted(asks, answer, sent) {
		supervise.Signal(l.changed)
	}
	var back []string
	for _, a := range asks {
		if a.Want == 0 {
			back = append(back, l.Slots.LimitName(a.Limit))
		}
	}
	l.tell(store.WakeSlotsFree, back)
	return nil
}
