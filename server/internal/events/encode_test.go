package events

import (
	"bytes"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/store"
)

// TestEncodings: what is kept of changes is what would be encoded, whoever asks, and is bounded.
func TestEncodings(t *testing.T) {
	t.Parallel()
	var c encodings
	change := func(n int64) *events.Event {
		e := &events.Event{Namespace: "shop", Queue: "<mails>", Kind: "mail"}
		e.Position, e.At, e.State, e.Job = events.Position{Life: 1, Count: n}, time.UnixMicro(n), store.Completed, store.ID{byte(n)}
		return e
	}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for n := int64(1); n <= 3*encoded; n++ {
				got, err := c.change(change(n))
				if err != nil {
					t.Error(err)
					return
				}
				var want bytes.Buffer
				if err := writeJSON(&want, viewChange(change(n))); err != nil || !bytes.Equal(append(bytes.Clone(got), '\n'), want.Bytes()) {
					t.Errorf("change %d is %s, not %s: %v", n, got, want.String(), err)
					return
				}
			}
		})
	}
	readers.Wait()
	if len(c.of) > encoded {
		t.Errorf("%d are kept, of at most %d", len(c.of), encoded)
	}
	var one, two bytes.Buffer
	data, err := c.change(change(3 * encoded))
	if err != nil {
		t.Fatal(err)
	}
	f := frame{event: "job.updated", id: "p", data: data}
	if err := sse.frame(&one, &f); err != nil {
		t.Fatal(err)
	}
	f.data = viewChange(change(3 * encoded))
	if err := sse.frame(&two, &f); err != nil || one.String() != two.String() {
		t.Errorf("a frame is %q, not %q: %v", one.String(), two.String(), err)
	}
	one.Reset()
	two.Reset()
	if err := ndjson.frame(&two, &f); err != nil {
		t.Fatal(err)
	}
	f.data = data
	if err := ndjson.frame(&one, &f); err != nil || one.String() != two.String() || !json.Valid(one.Bytes()) {
		t.Errorf("a line is %q, not %q: %v", one.String(), two.String(), err)
	}
}
