package holdfast_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/store"
)

var fulfil = holdfast.NewKind[order, receipt]("order.fulfil")

func TestTypedResultComesBack(t *testing.T) {
	hf := open(t)
	err := fulfil.Handle(hf, func(run *holdfast.Run, o order) (receipt, error) {
		if run.Kind() != "order.fulfil" || run.Queue() != "orders" || run.Attempt() != 1 || run.Lease().Number != 1 {
			t.Errorf("run is %s in %s, attempt %d, lease %+v", run.Kind(), run.Queue(), run.Attempt(), run.Lease())
		}
		if run.Tags()[0] != "a" || string(run.Metadata()) != `{"by":"me"}` {
			t.Errorf("tags %v, metadata %s", run.Tags(), run.Metadata())
		}
		return receipt{Total: 2 * o.ID}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	job, err := fulfil.Enqueue(t.Context(), hf, order{ID: 21},
		holdfast.Queue("orders"), holdfast.Tags("a", "b"), holdfast.Metadata(map[string]string{"by": "me"}))
	if err != nil {
		t.Fatal(err)
	}
	got, err := job.Wait(t.Context())
	if err != nil || got.Total != 42 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHandlerThatReturnsNothingStoresNothing(t *testing.T) {
	hf := open(t)
	kind := holdfast.NewKind[order, struct{}]("quiet")
	if err := kind.Handle(hf, func(*holdfast.Run, order) (struct{}, error) { return struct{}{}, nil }); err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	job, err := kind.Enqueue(t.Context(), hf, order{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if rec, err := job.Get(t.Context()); err != nil || rec.Result != nil {
		t.Errorf("result %q, %v", rec.Result, err)
	}
}

func TestHandlerOutcomes(t *testing.T) {
	kind := holdfast.NewKind[string, int]("outcome", holdfast.Backoff(time.Millisecond, time.Millisecond))
	hf := open(t)
	seen := map[string]int{}
	err := kind.Handle(hf, func(run *holdfast.Run, what string) (int, error) {
		seen[what] = run.Attempt()
		switch what {
		case "fail":
			return 0, holdfast.Fail(errors.New("hopeless"))
		case "fail without error":
			return 0, holdfast.Fail(nil)
		case "cancel":
			return 0, holdfast.Cancel("not needed")
		case "error":
			return 0, errors.New("always")
		case "wrapped":
			return 0, errors.Join(errors.New("context"), holdfast.Cancel("inside"))
		}
		return 1, nil
	}, holdfast.MaxAttempts(2))
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	for what, want := range map[string]struct {
		err     error
		message string
		reason  store.Reason
		attempt int
	}{
		"fail":               {holdfast.ErrFailed, "hopeless", "terminal", 1},
		"fail without error": {holdfast.ErrFailed, "failed by its handler", "terminal", 1},
		"cancel":             {holdfast.ErrCancelled, "not needed", "cancelled", 1},
		"wrapped":            {holdfast.ErrCancelled, "inside", "cancelled", 1},
		"error":              {holdfast.ErrFailed, "always", "attempts_exhausted", 2},
	} {
		job, err := kind.Enqueue(t.Context(), hf, what)
		if err != nil {
			t.Fatal(err)
		}
		_, err = job.Wait(t.Context())
		var ended *holdfast.JobError
		if !errors.Is(err, want.err) || !errors.As(err, &ended) {
			t.Errorf("%s: error is %v", what, err)
			continue
		}
		if ended.Message != want.message || ended.Reason != want.reason || seen[what] != want.attempt {
			t.Errorf("%s: %+v after attempt %d", what, ended, seen[what])
		}
	}
}

func TestArgsThatDoNotDecodeFailAtOnce(t *testing.T) {
	hf := open(t)
	err := fulfil.Handle(hf, func(*holdfast.Run, order) (receipt, error) {
		t.Error("the handler was called")
		return receipt{}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	other := holdfast.NewKind[string, receipt](fulfil.Name())
	job, err := other.Enqueue(t.Context(), hf, "not an order")
	if err != nil {
		t.Fatal(err)
	}
	_, err = job.Wait(t.Context())
	var ended *holdfast.JobError
	if !errors.As(err, &ended) || ended.Reason != "terminal" || !strings.Contains(ended.Message, "cannot decode the args") {
		t.Errorf("error is %v", err)
	}
}

func TestResultThatIsTooLargeFailsTheJob(t *testing.T) {
	hf := open(t, holdfast.WithMaxPayload(100))
	kind := holdfast.NewKind[int, string]("large")
	if err := kind.Handle(hf, func(_ *holdfast.Run, n int) (string, error) { return strings.Repeat("x", n), nil }); err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	job, err := kind.Enqueue(t.Context(), hf, 200)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); !errors.Is(err, holdfast.ErrFailed) || !strings.Contains(err.Error(), "exceed the limit of 100") {
		t.Errorf("error is %v", err)
	}
}

func TestCheckpointReachesTheNextAttempt(t *testing.T) {
	hf := open(t)
	kind := holdfast.NewKind[int, int]("resume", holdfast.Backoff(time.Millisecond, time.Millisecond))
	err := kind.Handle(hf, func(run *holdfast.Run, upTo int) (int, error) {
		var at int
		found, err := run.LoadCheckpoint(&at)
		if err != nil || found != (run.Attempt() > 1) {
			t.Errorf("attempt %d: found %v, %v", run.Attempt(), found, err)
		}
		for ; at < upTo; at++ {
			if at == 5 && run.Attempt() == 1 {
				return 0, errors.New("half way")
			}
			if err := run.SaveCheckpoint(at + 1); err != nil {
				return 0, err
			}
		}
		return at * run.Attempt(), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	job, err := kind.Enqueue(t.Context(), hf, 10)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := job.Wait(t.Context()); err != nil || got != 20 {
		t.Errorf("got %d, %v", got, err)
	}
}

func TestEnqueueManyKeepsTheOrderAndReportsRefusals(t *testing.T) {
	hf := open(t)
	kind := holdfast.NewKind[int, int]("many")
	ins := make([]int, 2500)
	for i := range ins {
		ins[i] = i
	}
	jobs, err := kind.EnqueueMany(t.Context(), hf, ins)
	if err != nil {
		t.Fatal(err)
	}
	for i, job := range jobs {
		rec, err := job.Get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var arg int
		if err := json.Unmarshal(rec.Args, &arg); err != nil || arg != i {
			t.Fatalf("job %d has args %s", i, rec.Args)
		}
	}
	jobs, err = kind.EnqueueMany(t.Context(), hf, []int{7, 7, 8}, holdfast.Unique{ByArgs: true, OnConflict: store.Reject})
	var batch *holdfast.BatchError
	var unique *store.UniqueError
	if !errors.As(err, &batch) || len(batch.Refused) != 1 || !errors.As(batch.Refused[1], &unique) || unique.Holder != jobs[0].ID {
		t.Errorf("error is %v", err)
	}
	if jobs[0] == nil || jobs[1] != nil || jobs[2] == nil {
		t.Errorf("jobs are %v", jobs)
	}
}

func TestEnqueueBatchTakesTheGoodOnes(t *testing.T) {
	hf := open(t)
	raw := holdfast.NewKind[json.RawMessage, json.RawMessage]("raw")
	results, err := hf.EnqueueBatch(t.Context(), []holdfast.BatchItem{
		raw.Item(json.RawMessage(`{"a":1}`)),
		raw.Item(json.RawMessage(`{"a":`)),
		fulfil.Item(order{ID: 1}, holdfast.Priority(9)),
		fulfil.Item(order{ID: 2}, holdfast.Unique{ByFields: []string{"id"}, OnConflict: store.Reject}),
		fulfil.Item(order{ID: 2, Name: "again"}, holdfast.Unique{ByFields: []string{"id"}, OnConflict: store.Reject}),
	})
	if batch, ok := errors.AsType[*holdfast.BatchError](err); !ok || len(batch.Refused) != 3 || batch.Stopped != nil {
		t.Fatalf("error is %v", err)
	}
	for i, want := range []error{nil, holdfast.ErrInvalid, holdfast.ErrInvalid, nil, holdfast.ErrConflict} {
		if !errors.Is(results[i].Err, want) {
			t.Errorf("item %d: %v, not %v", i, results[i].Err, want)
		}
	}
	page, err := hf.List(t.Context(), store.Filter{}, "", 10)
	if err != nil || len(page.Jobs) != 2 {
		t.Errorf("%d jobs were stored: %v", len(page.Jobs), err)
	}
}

func TestRepeatedEnqueueIsOneJob(t *testing.T) {
	hf := open(t)
	id := holdfast.NewID()
	for n := range 3 {
		job, err := fulfil.Enqueue(t.Context(), hf, order{ID: 1}, holdfast.JobID(id))
		if err != nil || job.ID != id || job.Existing != (n > 0) {
			t.Errorf("enqueue %d: %+v, %v", n, job, err)
		}
	}
}

func TestBadInputIsRefusedWithItsReason(t *testing.T) {
	hf := open(t, holdfast.WithMaxPayload(1000))
	raw := holdfast.NewKind[json.RawMessage, int]("raw")
	enqueue := func(args string, opts ...holdfast.EnqueueOption) error {
		_, err := raw.Enqueue(context.Background(), hf, json.RawMessage(args), opts...)
		return err
	}
	long := strings.Repeat("x", 201)
	for name, c := range map[string]struct {
		err  error
		says string
	}{
		"empty queue":           {enqueue(`1`, holdfast.Queue("")), "queue: must not be empty"},
		"long queue":            {enqueue(`1`, holdfast.Queue(long)), "201 bytes exceed the limit of 200"},
		"control character":     {enqueue(`1`, holdfast.Queue("a\nb")), "control character"},
		"C1 control character":  {enqueue(`1`, holdfast.Tags("a\u009b31m")), "control character"},
		"text turned around":    {enqueue(`1`, holdfast.Queue("a\u202eb")), "invisible character U+202E"},
		"space without width":   {enqueue(`1`, holdfast.Queue("a\u200b")), "invisible character U+200B"},
		"bytes in a name":       {enqueue(`1`, holdfast.Queue("a\xff")), "UTF-8"},
		"empty tag":             {enqueue(`1`, holdfast.Tags("a", "")), "tag: must not be empty"},
		"many tags":             {enqueue(`1`, holdfast.Tags(strings.Split(strings.Repeat("a ", 20)+"a", " ")...)), "21 exceed the limit of 20"},
		"priority":              {enqueue(`1`, holdfast.Priority(0)), "between 1 (most urgent) and 4"},
		"attempts":              {enqueue(`1`, holdfast.MaxAttempts(0)), "between 1 and 1000"},
		"backoff":               {enqueue(`1`, holdfast.Backoff(time.Minute, time.Second)), "limit not below"},
		"timeout":               {enqueue(`1`, holdfast.Timeout(0)), "not positive"},
		"heartbeat timeout":     {enqueue(`1`, holdfast.HeartbeatTimeout(-1)), "not positive"},
		"deadline":              {enqueue(`1`, holdfast.Delay(time.Hour), holdfast.Deadline(time.Now())), "not after the run time"},
		"metadata":              {enqueue(`1`, holdfast.Metadata([]int{1})), "not a JSON object"},
		"NUL in metadata":       {enqueue(`1`, holdfast.Metadata(map[string]string{"a": "\x00"})), "NUL"},
		"not JSON":              {enqueue(`{"a":`), "args"},
		"NUL":                   {enqueue(`"a\u0000b"`), "NUL"},
		"too large":             {enqueue(`"` + strings.Repeat("x", 1000) + `"`), "exceed the limit of 1000"},
		"id of another version": {enqueue(`1`, holdfast.JobID(holdfast.ID{1})), "not a UUIDv7"},
		"no field":              {enqueue(`1`, holdfast.Unique{ByFields: []string{}}), "at least one field"},
		"field without a name":  {enqueue(`1`, holdfast.Unique{ByFields: []string{""}}), "must not be empty"},
		"field in other letters": {
			enqueue(`{"a":{"Customer":1}}`, holdfast.Unique{ByFields: []string{"a.customer"}}), `no field "customer", but "Customer"`,
		},
		"no such response": {enqueue(`1`, holdfast.Unique{OnConflict: 9}), "no response"},
		"short period":     {enqueue(`1`, holdfast.Unique{ByPeriod: time.Millisecond}), "shorter than a second"},
	} {
		if !errors.Is(c.err, holdfast.ErrInvalid) || !strings.Contains(c.err.Error(), c.says) {
			t.Errorf("%s: the error is %v; it should say %q", name, c.err, c.says)
		}
	}
	if _, err := holdfast.NewKind[int, int]("mail\ufeff").Enqueue(t.Context(), hf, 1); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("an invisible character in a kind: %v", err)
	}
	// Tags and keys may be users' data.
	persian := holdfast.Queue("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645")
	if err := enqueue(`1`, holdfast.Tags("a\u200bb"), holdfast.OrderingKey("\u202eb"), persian); err != nil {
		t.Errorf("data: %v", err)
	}
	if err := enqueue(`"a\\u0000b"`); err != nil {
		t.Errorf("an escaped backslash before u0000 is no NUL: %v", err)
	}
	for name, kind := range map[string]holdfast.Kind[int, int]{
		"empty kind": holdfast.NewKind[int, int](""),
		"bad option": holdfast.NewKind[int, int]("k", holdfast.Priority(7)),
	} {
		if _, err := kind.Enqueue(t.Context(), hf, 1); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
		if err := kind.Handle(hf, func(*holdfast.Run, int) (int, error) { return 0, nil }); !errors.Is(err, holdfast.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if page, err := hf.List(t.Context(), store.Filter{}, "", 10); err != nil || len(page.Jobs) != 2 {
		t.Errorf("%d jobs were stored, 2 were valid: %v", len(page.Jobs), err)
	}
}

// TestStopIsFinal: Stop also stops a node whose Run is called later, as in a goroutine that has not
// started.
func TestStopIsFinal(t *testing.T) {
	hf := open(t)
	if err := fulfil.Handle(hf, func(*holdfast.Run, order) (receipt, error) { return receipt{}, nil }); err != nil {
		t.Fatal(err)
	}
	// After the end of its context Run may be called again.
	for range 2 {
		ctx, end := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- hf.Run(ctx) }()
		job, err := fulfil.Enqueue(t.Context(), hf, order{})
		if err == nil {
			_, err = job.Wait(t.Context())
		}
		end()
		if err := errors.Join(err, <-ran); err != nil {
			t.Fatal(err)
		}
	}
	if err := hf.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodes, err := hf.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := hf.Run(t.Context()); err != nil {
			t.Errorf("Run after Stop: %v", err)
		}
	}
	if after, err := hf.Nodes(t.Context()); err != nil || len(after) != len(nodes) {
		t.Errorf("%d nodes have joined after Stop, %v", len(after)-len(nodes), err)
	}
	if _, err := fulfil.Enqueue(t.Context(), hf, order{}); err != nil {
		t.Errorf("enqueueing after Stop: %v", err)
	}
	if err := hf.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := hf.Run(t.Context()); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("Run after Close: %v", err)
	}
}

func TestLifecycleMistakesAreErrors(t *testing.T) {
	hf := open(t)
	if err := hf.Run(t.Context()); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("running without handlers: %v", err)
	}
	handler := func(*holdfast.Run, order) (receipt, error) { return receipt{}, nil }
	if err := fulfil.Handle(hf, handler); err != nil {
		t.Fatal(err)
	}
	if err := fulfil.Handle(hf, handler); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("two handlers of a kind: %v", err)
	}
	run(t, hf)
	job, err := fulfil.Enqueue(t.Context(), hf, order{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := job.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := hf.Run(t.Context()); !errors.Is(err, holdfast.ErrConflict) {
		t.Errorf("running twice: %v", err)
	}
	closed, err := holdfast.Open(t.Context(), memory{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := closed.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := fulfil.Enqueue(t.Context(), closed, order{}); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("enqueueing on a closed client: %v", err)
	}
	if err := closed.Wait(t.Context(), job.ID); !errors.Is(err, holdfast.ErrClosed) {
		t.Errorf("waiting on a closed client: %v", err)
	}
}
