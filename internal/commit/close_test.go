package commit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/storetest/model"
)

// TestWhatComesAfterTheEnd: a caller that has found the committer open, and comes when it has
// ended, is told so.
func TestWhatComesAfterTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := begin(model.New(time.Now), func(*store.Batch) {})
		c.Close(t.Context())
		if err := c.Send(t.Context(), []*store.Send{{}}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Send: %v", err)
		}
		if err := c.Enqueue(t.Context(), []*store.Enqueue{{}}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Enqueue: %v", err)
		}
		if err := c.Remember(&store.Append{}); !errors.Is(err, store.ErrClosed) {
			t.Errorf("Remember: %v", err)
		}
	})
}
