package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfastdev/holdfast"
)

// sendTo names a message: those of one key are sent again and again, and arrive once.
type sendTo struct {
	job holdfast.ID
	gen int
	key int
}

// keepSending sends signals to all flows that want some, each under its key, and several times,
// until ctx ends.
func (l *flowLoad) keepSending(ctx context.Context, random *rand.Rand) {
	for spend(ctx, 30*time.Millisecond) == nil {
		for to := range l.wanted(ctx) {
			if random.IntN(15) == 0 {
				l.send(ctx, to)
				l.send(ctx, to)
			}
		}
	}
}

// sendRest sends what has not arrived.
func (l *flowLoad) sendRest(ctx context.Context) {
	for to := range l.wanted(ctx) {
		l.mu.Lock()
		arrived := len(l.sends[to]) > 0
		l.mu.Unlock()
		if !arrived {
			l.send(ctx, to)
		}
	}
}

// wanted yields the messages that unfinished flows want, some of which may have arrived. By the way
// it hears of children.
func (l *flowLoad) wanted(ctx context.Context) func(yield func(sendTo) bool) {
	return func(yield func(sendTo) bool) {
		for after := ""; ; {
			page, err := l.clients[1].List(ctx, unfinished, after, 500)
			if err != nil {
				l.c.allow(err)
				return
			}
			for _, r := range page.Jobs {
				l.mu.Lock()
				l.hear(r.ID)
				l.mu.Unlock()
				var t task
				if err := json.Unmarshal(r.Args, &t); err != nil {
					l.c.t.Errorf("the args of job %s, %q: %v", r.ID, r.Args, err)
					return
				}
				for number := range t.signals() {
					for gen := range t.Last + 1 {
						if !yield(sendTo{r.ID, gen, number}) {
							return
						}
					}
				}
			}
			if after = page.Next; after == "" {
				return
			}
		}
	}
}

func (l *flowLoad) send(ctx context.Context, to sendTo) {
	bounded, stop := context.WithTimeout(ctx, patience)
	defer stop()
	once := holdfast.DedupKey(fmt.Sprintf("key %d of %d", to.key, to.gen))
	sent, err := noteOf(to.gen).Send(bounded, l.clients[1], to.job, key{to.key}, once)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case err == nil:
		l.sends[to] = append(l.sends[to], sent)
	case !errors.Is(err, holdfast.ErrConflict):
		l.c.allow(err)
	}
}
