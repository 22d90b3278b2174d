package events_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/access"
	"github.com/holdfastdev/holdfast/store"
)

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, g ground)) {
	t.Helper()
	t.Parallel()
	for name, on := range map[string]func(*testing.T) ground{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, on(t))
		})
	}
}

// process opens a client as another process would. Nothing is looked for without a wake-up.
func process(t *testing.T, g ground) *holdfast.Client {
	t.Helper()
	rarely := access.WithTests(access.Tests{Rarely: time.Hour}).(holdfast.Option) //nolint:errcheck // always one
	c, err := holdfast.Open(t.Context(), g.source, holdfast.WithLogger(slog.New(slog.DiscardHandler)), rarely)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

// work runs the node of a client until the test ends.
func work(t *testing.T, c *holdfast.Client) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// TestWatch: who watches a run, in its process or in another one, is told of each step as it ends,
// of what is sent to it and of its end: each step waits for him.
func TestWatch(t *testing.T) {
	onBoth(t, func(t *testing.T, g ground) {
		here, there := process(t, g), process(t, g)
		next := make(chan struct{})
		kind, on := holdfast.NewKind[int, string]("steps"), holdfast.NewSignal[string]("go")
		err := kind.Handle(here, func(run *holdfast.Run, n int) (string, error) {
			for i := range n {
				if _, err := holdfast.Step(run, fmt.Sprintf("step-%d", i), func(context.Context) (int, error) {
					<-next
					return i, nil
				}); err != nil {
					return "", err
				}
			}
			return on.Wait(run)
		})
		if err != nil {
			t.Fatal(err)
		}
		work(t, here)
		job, err := kind.Enqueue(t.Context(), here, 3)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		for e, _ := access.Engine(here); !e.Store.Traits().Wakeups && ctx.Err() == nil; {
			time.Sleep(time.Millisecond) //nolint:forbidigo // until it hears who watches: that is not repeated here
		}
		watchers := map[string]chan string{}
		for name, c := range map[string]*holdfast.Client{"here": here, "there": there} {
			seen := make(chan string, 100)
			watchers[name] = seen
			go func() {
				defer close(seen)
				for d, err := range events.Watch(ctx, c, job.ID, events.Place{}) {
					seen <- say(d, err)
				}
			}()
		}
		await := func(what string) {
			t.Helper()
			for name, seen := range watchers {
				for said := range seen {
					if said == what {
						break
					}
				}
				if ctx.Err() != nil {
					t.Fatalf("%s is not told of %q", name, what)
				}
			}
		}
		await("running")
		if _, err := holdfast.NewSignal[string]("early").Send(ctx, here, job.ID, "nobody reads it"); err != nil {
			t.Fatal(err)
		}
		await("sent signal early")
		for i := range 3 {
			next <- struct{}{}
			await(fmt.Sprintf("step step-%d", i))
		}
		await("waiting")
		if _, err := on.Send(ctx, there, job.ID, "on"); err != nil {
			t.Fatal(err)
		}
		await("sent signal go")
		await("completed")
		for name, seen := range watchers {
			if more, ok := <-seen; ok {
				t.Errorf("%s is told %q after the end", name, more)
			}
		}
	})
}

func say(d events.Detail, err error) string {
	switch {
	case err != nil:
		return err.Error()
	case d.Entry != nil:
		return d.Entry.Kind + " " + d.Entry.Name
	case d.Message != nil:
		return "sent " + d.Message.Kind + " " + d.Message.Name
	case d.Record != nil:
		return d.Record.State.String()
	default:
		return fmt.Sprintf("dropped from %d", d.Dropped)
	}
}

// TestWatchFromAPlace: a watcher goes on where another one has stopped, and a finished job is told
// of at once.
func TestWatchFromAPlace(t *testing.T) {
	onBoth(t, func(t *testing.T, g ground) {
		c := process(t, g)
		kind := holdfast.NewKind[int, int]("steps")
		err := kind.Handle(c, func(run *holdfast.Run, n int) (int, error) {
			for i := range n {
				if err := run.Append("s", i); err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		work(t, c)
		job, err := kind.Enqueue(t.Context(), c, 5)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		var place events.Place
		var told []string
		for d, err := range events.Watch(t.Context(), c, job.ID, place) {
			told = append(told, say(d, err))
			if place = d.Place; place.Entry == 2 {
				break
			}
		}
		for d, err := range events.Watch(t.Context(), c, job.ID, place) {
			told = append(told, say(d, err))
		}
		want := append(slices.Repeat([]string{"streamed s"}, 5), "completed")
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// see watches a job from a place on until enough is told, or to its end, and returns where it is
// then.
func see(t *testing.T, c *holdfast.Client, job holdfast.ID, at events.Place, enough func(events.Detail) bool) (events.Place, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var told []string
	for d, err := range events.Watch(ctx, c, job, at) {
		if err != nil {
			t.Fatal(err)
		}
		switch at = d.Place; {
		case d.Message != nil:
			told = append(told, fmt.Sprintf("message %d %s", d.Message.Seq, d.Message.Data))
		case d.Entry != nil:
			told = append(told, fmt.Sprintf("entry %d %s", d.Entry.Seq, d.Entry.Kind))
		case d.DroppedMessages > 0:
			told = append(told, fmt.Sprintf("messages dropped from %d", d.DroppedMessages))
		case d.Dropped > 0:
			told = append(told, fmt.Sprintf("dropped from %d", d.Dropped))
		}
		if enough(d) {
			break
		}
	}
	return at, told
}

func never(events.Detail) bool { return false }

// TestWatchAfterItContinuedAsNew: a watcher that comes back after the job has continued as new, and
// has as many messages again, is told that those which it knows are gone, and of all that there
// are, though they were sent in one moment and look the same.
func TestWatchAfterItContinuedAsNew(t *testing.T) {
	onBoth(t, func(t *testing.T, g ground) {
		c := process(t, g)
		kind, on := holdfast.NewKind[int, string]("actor"), holdfast.NewSignal[string]("go")
		err := kind.Handle(c, func(run *holdfast.Run, rounds int) (string, error) {
			for range 3 {
				if _, err := on.Wait(run); err != nil {
					return "", err
				}
			}
			if rounds > 0 {
				return "", kind.ContinueAsNew(rounds - 1)
			}
			return "done", nil
		})
		if err != nil {
			t.Fatal(err)
		}
		job, err := kind.Enqueue(t.Context(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		err = g.within(t.Context(), func(tx store.Tx) error {
			var sends []*store.Send // at once: they have the same time
			for range 6 {
				m := store.Message{Kind: store.MessageSignal, Name: "go", Data: []byte(`"on"`)}
				sends = append(sends, &store.Send{Job: job.ID, Message: m})
			}
			e, _ := access.Engine(c)
			return errors.Join(e.Store.SendTx(t.Context(), tx, sends), sends[5].Err)
		})
		if err != nil {
			t.Fatal(err)
		}
		at, told := see(t, c, job.ID, events.Place{}, func(d events.Detail) bool { return d.Place.Message == 2 })
		if want := []string{`message 1 "on"`, `message 2 "on"`}; !slices.Equal(told, want) || at.Entry != 0 {
			t.Fatalf("told %q, want %q", told, want)
		}
		work(t, c)
		if _, err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		end, told := see(t, c, job.ID, at, never)
		want := []string{
			"messages dropped from 1", `message 1 "on"`, `message 2 "on"`, `message 3 "on"`,
			"entry 4 continued", "entry 5 received", "entry 6 received", "entry 7 received",
		}
		if !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
		if again, told := see(t, c, job.ID, end, never); len(told) > 0 || again != end {
			t.Errorf("at the end, %v, it is told %q, and is at %v", end, told, again)
		}
		numbers := events.Place{Entry: at.Entry, Message: at.Message}
		if _, told := see(t, c, job.ID, numbers, never); len(told) == 0 || told[0] != `message 3 "on"` {
			t.Errorf("after the numbers %v it is told %q", numbers, told)
		}
	})
}

// TestWatchAfterItWasResumed: a watcher that comes back after the journal was cut, and has grown
// beyond its place again, is told so.
func TestWatchAfterItWasResumed(t *testing.T) {
	onBoth(t, func(t *testing.T, g ground) {
		c := process(t, g)
		var pays atomic.Bool
		kind := holdfast.NewKind[int, int]("trip")
		err := kind.Handle(c, func(run *holdfast.Run, n int) (int, error) {
			for _, name := range []string{"book", "pay", "post"} {
				_, err := holdfast.Step(run, name, func(context.Context) (int, error) {
					if name == "pay" && !pays.Load() {
						return 0, holdfast.Fail(errors.New("the card is refused"))
					}
					return n, nil
				})
				if err != nil {
					return 0, err
				}
			}
			return n, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		work(t, c)
		job, err := kind.Enqueue(t.Context(), c, 1)
		if err != nil {
			t.Fatal(err)
		}
		at, told := see(t, c, job.ID, events.Place{}, never)
		if want := []string{"entry 1 step", "entry 2 step failed"}; !slices.Equal(told, want) {
			t.Fatalf("told %q, want %q", told, want)
		}
		pays.Store(true)
		if results, err := c.Resume(t.Context(), "another card", job.ID); err != nil || results[0].Err != nil {
			t.Fatal(results, err)
		}
		if _, err := job.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"dropped from 1", "entry 1 step", "entry 2 step", "entry 3 step"}
		if _, told := see(t, c, job.ID, at, never); !slices.Equal(told, want) {
			t.Errorf("told %q, want %q", told, want)
		}
	})
}

// TestWatchNothing: what is not there is an ErrNotFound.
func TestWatchNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, g ground) {
		c := process(t, g)
		var last error
		for _, err := range events.Watch(t.Context(), c, store.NewID(), events.Place{}) {
			last = err
		}
		if !errors.Is(last, holdfast.ErrNotFound) {
			t.Errorf("error %v", last)
		}
	})
}

// TestWatchBeforeAnybodyWorks: who watches a job before there is a node is told of its run as well:
// a process that begins to hear the others asks who watches.
func TestWatchBeforeAnybodyWorks(t *testing.T) {
	onBoth(t, func(t *testing.T, g ground) {
		there := process(t, g)
		kind := holdfast.NewTask[int]("late")
		job, err := kind.Enqueue(t.Context(), there, 1)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		told := make(chan string, 10)
		go func() {
			defer close(told)
			for d, err := range events.Watch(ctx, there, job.ID, events.Place{}) {
				told <- say(d, err)
			}
		}()
		if first := <-told; first != "available" {
			t.Fatalf("the first is %q", first)
		}
		for e, _ := access.Engine(there); !e.Store.Traits().Wakeups && ctx.Err() == nil; {
			time.Sleep(time.Millisecond) //nolint:forbidigo // it polls
		}
		here := process(t, g)
		goOn := make(chan struct{})
		if err := kind.Handle(here, func(*holdfast.Run, int) error { <-goOn; return nil }); err != nil {
			t.Fatal(err)
		}
		work(t, here)
		if next := <-told; next != "running" {
			t.Errorf("then %q", next)
		}
		close(goOn)
		if last := <-told; last != "completed" {
			t.Errorf("at last %q", last)
		}
	})
}
