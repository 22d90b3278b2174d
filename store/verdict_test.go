package store

import (
	"fmt"
	"testing"
	"time"
)

// TestEndingsMeetWhatIsAsked: the order of the rules. All combinations are in storetest.
func TestEndingsMeetWhatIsAsked(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000, 0)
	retryable := Ending{State: Retryable, RunAt: at}
	durable := Ending{State: Retryable, RunAt: at, Durable: true}
	parked := Ending{State: Waiting, Durable: true}
	held := Ending{State: Waiting, Durable: true, Held: true, Contradicts: true}
	seen := durable
	seen.CancelSeen = true
	for _, c := range []struct {
		what   string
		ending Ending
		asked  Asked
		want   Verdict
	}{
		{"nothing", retryable, Asked{}, Verdict{State: Retryable}},
		{"who has completed stays so", Ending{State: Completed}, Asked{Cancel: true, Pause: true}, Verdict{State: Completed}},
		{
			"a cancel before a deadline and a pause", retryable,
			Asked{Cancel: true, Pause: true, Deadline: at},
			Verdict{State: Cancelled, Cause: EndsByRequest},
		},
		{"a deadline before a pause", retryable, Asked{Pause: true, Deadline: at}, Verdict{State: Failed, Cause: EndsByDeadline}},
		{"a deadline that comes later", retryable, Asked{Deadline: at.Add(1)}, Verdict{State: Retryable}},
		{"a chance to end itself", durable, Asked{Cancel: true}, Verdict{State: Available, Due: DueNow}},
		{"once", seen, Asked{Cancel: true, Deadline: at}, Verdict{State: Retryable}},
		{"nor for code that does not fit", held, Asked{Cancel: true}, Verdict{State: Waiting}},
		{"nor while it is closing", durable, Asked{Cancel: true, Closing: true, Deadline: at}, Verdict{State: Retryable}},
		{"a chance at the deadline", durable, Asked{Deadline: at}, Verdict{State: Retryable, Due: DueAtDeadline}},
		{"a pause of what waits", parked, Asked{Pause: true}, Verdict{State: Available, Due: DueNow, Hold: true}},
		{"a pause of what is to be tried again", retryable, Asked{Pause: true}, Verdict{State: Retryable, Hold: true}},
		{"a pause of what is held", held, Asked{Pause: true}, Verdict{State: Waiting}},
	} {
		if got := c.ending.Meet(c.asked); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", c.want))
		}
	}
}
