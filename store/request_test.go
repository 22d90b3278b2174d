package store_test

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestRequestOfAnOlderProgram: it did not note what has happened, so that its request, once it is
// over, is begun again only by who may do it twice.
func TestRequestOfAnOlderProgram(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	name := bytes.Repeat([]byte("n"), 32)
	for _, answer := range []string{"", "{}", `{"answer":"eA=="}`} {
		kept := &store.KeptRequest{Print: name, At: at, Until: at.Add(time.Minute), Owner: bytes.Repeat([]byte("a"), 16), Answer: []byte(answer)}
		r := &store.KeyedRequest{Hash: name, Print: name, Phase: store.RequestBegins, Owner: bytes.Repeat([]byte("b"), 16), For: time.Minute}
		step, err := r.Judge(kept, at.Add(time.Minute))
		if e, is := errors.AsType[*store.RequestError](err); !is || !e.Over || e.Happened || step != store.NoStep {
			t.Errorf("%q: begins in its place: %v, %v", answer, step, err)
		}
		r.Again = true
		if step, err := r.Judge(kept, at.Add(time.Minute)); step != store.UpdateRequest || err != nil {
			t.Errorf("%q: begins again: %v, %v", answer, step, err)
		}
	}
}
