package holdfast_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

// TestSetQueue: the enqueue is heard before the queue, that before the handler, and the handler
// before the kind.
func TestSetQueue(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	hf := open(t, holdfast.WithActor("ada"))
	soon := holdfast.Backoff(time.Millisecond, time.Millisecond)
	says := holdfast.NewTask[int]("says", holdfast.Queue("set"), holdfast.MaxAttempts(2), soon)
	silent := holdfast.NewTask[int]("silent", holdfast.Queue("unset"), holdfast.MaxAttempts(2), soon)
	fails := func(*holdfast.Run, int) error { return errors.New("no") }
	err := errors.Join(says.Handle(hf, fails, holdfast.MaxAttempts(4)), silent.Handle(hf, fails))
	if err != nil {
		t.Fatal(err)
	}
	set, err := hf.SetQueue(ctx, "set", store.AttemptSettings{MaxAttempts: 3, Timeout: time.Hour}, 0)
	if err != nil || set.MaxAttempts != 3 || set.SetBy != "ada" || set.SetAt.IsZero() {
		t.Fatalf("%+v, %v", set, err)
	}
	if set, err = hf.SetQueue(ctx, "set", store.AttemptSettings{}, store.SettingTimeout); err != nil || set.Timeout != 0 {
		t.Fatalf("%+v, %v", set, err)
	}
	run(t, hf)
	for _, c := range []struct {
		task holdfast.Task[int]
		opts []holdfast.EnqueueOption
		want int
	}{
		{says, nil, 3},
		{says, []holdfast.EnqueueOption{holdfast.MaxAttempts(2)}, 2}, // as the kind says, but of its own
		{says, []holdfast.EnqueueOption{holdfast.Queue("unset")}, 4},
		{silent, nil, 2},
		{silent, []holdfast.EnqueueOption{holdfast.Queue("set")}, 3},
	} {
		job, err := c.task.Enqueue(ctx, hf, 1, c.opts...)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(ctx); err == nil {
			t.Fatal("it has not failed")
		}
		if record, err := job.Get(ctx); err != nil || record.Attempt != c.want {
			t.Errorf("%s in %s with %d options: %d attempts, want %d, %v", record.Kind, record.Queue, len(c.opts), record.Attempt, c.want, err)
		}
	}
}

func TestSetQueueInvalid(t *testing.T) {
	t.Parallel()
	hf := open(t)
	for name, what := range map[string]string{"": "queue", "mail": "not between 1 and 1000"} {
		_, err := hf.SetQueue(t.Context(), name, store.AttemptSettings{MaxAttempts: 1001}, 0)
		if !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
