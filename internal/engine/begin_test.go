package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfastdev/holdfast/store"
)

// untold is a store of which nodes cannot read what is set of queues.
type untold struct{ store.Store }

var errUnread = errors.New("nothing can be read")

func (untold) AttemptsOfQueues(context.Context, string) (map[string]store.QueueAttempts, error) {
	return nil, errUnread
}

// TestANodeThatCannotBeginLeaves: it has joined, and others need not wait for its beats.
func TestANodeThatCannotBeginLeaves(t *testing.T) {
	inBedOf(t, Config{}, func(st store.Store) store.Store { return untold{st} }, func(b *bed) {
		b.handle("k", func(context.Context, Attempt) ([]byte, error) { return nil, nil })
		if err := b.runner().Run(context.Background(), Stop{Hard: context.Background()}); !errors.Is(err, errUnread) {
			t.Errorf("it says %v", err)
		}
		nodes, err := b.st.Nodes(b.t.Context())
		if err != nil || len(nodes) != 1 || nodes[0].Ended != store.NodeLeft {
			t.Errorf("nodes: %+v, %v", nodes, err)
		}
	})
}
