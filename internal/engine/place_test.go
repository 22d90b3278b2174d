package engine

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestWhatIsGivenBackKeepsItsPlace: jobs that a node had claimed ahead, and gives back because its
// slots do not come free, are due since when they were, and start before those that came later. The
// node does not take them again and again while it has no room.
func TestWhatIsGivenBackKeepsItsPlace(t *testing.T) {
	inBed(t, Config{Node: NodeConfig{Slots: 2}}, func(b *bed) {
		var mu sync.Mutex
		var started []store.ID
		leave := make(chan struct{})
		quick := true
		b.handle("k", func(_ context.Context, a Attempt) ([]byte, error) {
			if !quick {
				mu.Lock()
				started = append(started, a.Job().ID)
				mu.Unlock()
				<-leave
				time.Sleep(time.Millisecond) // so that no slot runs ahead of the other
			}
			return nil, nil
		})
		b.run()
		for range 20 { // so that it prefetches
			b.wait(b.enqueue(b.job("k")))
		}
		quick = false
		var ids []store.ID
		due := map[store.ID]time.Time{}
		for range 10 {
			id := b.enqueue(b.job("k"))
			ids, due[id] = append(ids, id), b.get(id).RunAt
		}
		synctest.Wait()
		ahead := len(b.runner().node.worksOn()) - 2
		if ahead <= 0 {
			t.Fatal("none is prefetched, so that this shows nothing")
		}
		time.Sleep(time.Minute)
		for range 10 {
			ids = append(ids, b.enqueue(b.job("k")))
		}
		back := 0
		for _, id := range ids[:10] {
			r := b.get(id)
			if !r.RunAt.Equal(due[id]) {
				t.Errorf("job %s is due at %v, want %v", id, r.RunAt, due[id])
			}
			if back += len(r.Attempts); len(r.Attempts) > 1 {
				t.Errorf("job %s was given back %d times", id, len(r.Attempts))
			}
		}
		if back != ahead {
			t.Errorf("%d jobs were given back, want %d", back, ahead)
		}
		close(leave)
		for _, id := range ids {
			b.expect(b.wait(id), store.Completed, "")
		}
		for _, id := range ids[:10] {
			if !slices.Contains(started[:11], id) { // two run at once, which of them is noted first is open
				t.Errorf("job %s came before the second ten, and was the %dth to start", id, slices.Index(started, id)+1)
			}
		}
	})
}
