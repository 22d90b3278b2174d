package logs

import (
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfastdev/holdfast/internal/logs/logstest"
	"github.com/holdfastdev/holdfast/store"
)

var errAway = errors.New("the database is away")

// TestFlappingDatabaseIsNoStorm: the database answers every second call.
func TestFlappingDatabaseIsNoStorm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log logstest.Book
		o := NewOutage(log.Logger(t, slog.LevelInfo))
		for range 6000 {
			o.Failed(CallClaim, errAway)
			time.Sleep(5 * time.Millisecond)
			o.Succeeded(CallClaim)
			o.Stumbled("retention", errAway)
			time.Sleep(5 * time.Millisecond)
		}
		lines := log.Lines(t, "")
		if n := len(lines); n < 3 || n > 6 {
			t.Errorf("%d lines in a minute", n)
		}
		total := 0.0
		for _, e := range log.Lines(t, "a database call failed") {
			n, _ := e["failures"].(float64)
			total += n
		}
		if total < 6000 {
			t.Errorf("they tell of %v failures", total)
		}
		// A call that is no longer retried is not waited for.
		o.Failed(CallCommit, errAway)
		time.Sleep(SayOutage)
		o.Failed(CallCommit, errAway)
		before := len(log.Lines(t, "the database answers again"))
		time.Sleep(givenUp)
		o.Succeeded(CallBeat)
		if after := len(log.Lines(t, "the database answers again")); after != before+1 {
			t.Errorf("%d lines, then %d", before, after)
		}
	})
}

// TestFullDisk: it is known why calls fail, until they succeed.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	o := NewOutage(slog.New(slog.DiscardHandler))
	for _, step := range []struct {
		call string
		err  error
		want bool
	}{
		{CallBeat, nil, false},
		{CallCommit, errAway, false},
		{CallCommit, fmt.Errorf("%w: apply", store.ErrFull), true},
		{CallBeat, nil, true}, // commits still fail
		{CallBeat, errAway, false},
		{CallCommit, store.ErrFull, true},
		{CallBeat, nil, true},
		{CallCommit, nil, false},
	} {
		if step.err == nil {
			o.Succeeded(step.call)
		} else {
			o.Failed(step.call, step.err)
		}
		if got := o.IsFull(); got != step.want {
			t.Errorf("after %s, %v: full is %v", step.call, step.err, got)
		}
	}
}
