package after_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/after"
	"github.com/holdfastdev/holdfast/store"
)

// TestFollowUps: of the follow-ups of a job those run that its end is for, and know about it.
func TestFollowUps(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := open(t)
	ran := make(chan string, 10)
	err := errors.Join(
		first.Handle(c, func(_ *holdfast.Run, in string) (string, error) {
			switch in {
			case "fail":
				return "", holdfast.Fail(errors.New("it is broken"))
			case "cancel":
				return "", holdfast.Cancel("it is not wanted")
			}
			return "done", nil
		}),
		then.Handle(c, func(run *holdfast.Run, in string) (string, error) {
			of, err := after.Outcome(run)
			if err != nil {
				return "", err
			}
			result, err := after.Result[string](run)
			if failed, is := errors.AsType[*holdfast.JobError](err); is && failed.ID == after.First(run) {
				result, err = failed.Message, nil
			}
			ran <- in + ": " + of.State.String() + ", " + result
			return "", err
		}),
	)
	if err != nil {
		t.Fatal(err)
	}
	go c.Run(ctx) //nolint:errcheck // it ends with the test
	for in, want := range map[string]string{
		"go":     "success: completed, done; end: completed, done",
		"fail":   "failure: failed, it is broken; end: failed, it is broken",
		"cancel": "cancel: cancelled, it is not wanted; end: cancelled, it is not wanted",
	} {
		get[*holdfast.Job[string]](t)(first.Enqueue(ctx, c, in, after.Success(then.Item("success")), after.Failure(then.Item("failure")),
			after.Cancel(then.Item("cancel")), after.End(then.Item("end"))))
		got := []string{<-ran, <-ran}
		if strings.HasPrefix(got[0], "end") {
			got[0], got[1] = got[1], got[0]
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %q, want %q", in, got, want)
		}
	}
	unneeded, err := c.List(ctx, store.Filter{States: []store.State{store.Cancelled}, Kinds: []string{"then"}}, "", 100)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range unneeded.Jobs {
		if r.Attempt != 0 {
			t.Errorf("it has run: %+v", r)
		}
	}
}

// TestFollowUpsRefused: what cannot be a follow-up is refused, and nothing is enqueued.
func TestFollowUpsRefused(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	for what, opt := range map[string]holdfast.EnqueueOption{
		"its id is made for it": after.Success(then.Item("", holdfast.JobID(holdfast.NewID()))),
		"a unique key":          after.Failure(then.Item("", holdfast.Unique{ByArgs: true})),
		"a business key":        after.Failure(then.Item("", holdfast.Key("k"))),
		"and no other":          after.Cancel(then.Item("", after.Completed(holdfast.NewID()))),
		"it is missing":         after.End(holdfast.BatchItem{}),
		"priority":              after.End(then.Item("", holdfast.Priority(7))),
	} {
		if _, err := first.Enqueue(ctx, c, "", opt); !errors.Is(err, holdfast.ErrInvalid) || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := c.Edit(ctx, "", holdfast.NewID(), after.Success(then.Item(""))); !errors.Is(err, holdfast.ErrInvalid) {
		t.Errorf("an edit: %v", err)
	}
	if all, err := c.List(ctx, store.Filter{}, "", 10); err != nil || len(all.Jobs) != 0 {
		t.Errorf("there are %v, %v", all, err)
	}
}

// TestFollowUpsPassThroughMiddleware: those of the follow-up's own kind, too.
func TestFollowUpsPassThroughMiddleware(t *testing.T) {
	t.Parallel()
	ctx, c := t.Context(), open(t)
	tagged := holdfast.NewKind[string, string]("tagged", holdfast.WithEnqueueMiddleware(
		func(ctx context.Context, jobs []*store.Job, next func(context.Context) error) error {
			for _, j := range jobs {
				j.Tags = append(j.Tags, "seen")
			}
			return next(ctx)
		}))
	get[*holdfast.Job[string]](t)(first.Enqueue(ctx, c, "", after.Success(tagged.Item("a", after.Failure(then.Item("b"))))))
	all, err := c.List(ctx, store.Filter{States: []store.State{store.Waiting}}, "", 10)
	if err != nil || len(all.Jobs) != 2 {
		t.Fatalf("the follow-ups: %+v, %v", all, err)
	}
	for _, r := range all.Jobs {
		if (len(r.Tags) == 1) != (r.Kind == "tagged") {
			t.Errorf("the tags of the job of kind %s: %q", r.Kind, r.Tags)
		}
	}
}
