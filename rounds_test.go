package holdfast_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/pgtest"
	"github.com/holdfastdev/holdfast/internal/sqlitetest"
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite"
)

// Jobs publish and stream in several rounds, and continue as new after each.

const (
	rounds    = 5
	perRound  = 3
	manyItems = rounds * perRound
)

var nextRound = holdfast.NewSignal[int]("next")

// onDatabases runs a test on each kind of database.
func onDatabases(t *testing.T, test func(t *testing.T, source store.Source)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, sqlite.File(sqlitetest.File(t)))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		pgtest.InSoak(t)
		test(t, server(t))
	})
}

// openRounds opens a client with a handler for each round; it continues as new until last.
func openRounds(
	t *testing.T, source store.Source, handler func(run *holdfast.Run, round int) (last bool, err error),
) (*holdfast.Client, holdfast.Kind[int, int]) {
	t.Helper()
	hf, err := holdfast.Open(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hf.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	kind := holdfast.NewKind[int, int]("rounds")
	err = kind.Handle(hf, func(run *holdfast.Run, round int) (int, error) {
		last, err := handler(run, round)
		if err != nil || last {
			return round, err
		}
		return 0, kind.ContinueAsNew(round + 1)
	})
	if err != nil {
		t.Fatal(err)
	}
	run(t, hf)
	return hf, kind
}

// playRound publishes the number of the round, and appends some items.
func playRound(run *holdfast.Run, round int) error {
	if err := run.Publish("round", round); err != nil {
		return err
	}
	for i := range perRound {
		if _, err := holdfast.Step(run, "work", func(context.Context) (int, error) { return i, nil }); err != nil {
			return err
		}
		if err := run.Append("log", fmt.Sprint(round, ".", i)); err != nil {
			return err
		}
	}
	return nil
}

// wantLog are the items of the first n rounds.
func wantLog(n int) (want []string) {
	for round := range n {
		for i := range perRound {
			want = append(want, fmt.Sprintf(`"%d.%d"`, round, i))
		}
	}
	return want
}

// wantItems checks items, and that their offsets grow.
func wantItems(t *testing.T, what string, items []holdfast.StreamItem, want []string) {
	t.Helper()
	var got []string
	for i, item := range items {
		got = append(got, string(item.Value))
		if i > 0 && item.Offset <= items[i-1].Offset {
			t.Errorf("%s: offset %d comes after %d", what, item.Offset, items[i-1].Offset)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: %s, want %s", what, strings.Join(got, " "), strings.Join(want, " "))
	}
}

// TestRounds: callers that wait for a value, follow a stream or read it later see everything from
// all rounds.
func TestRounds(t *testing.T) {
	t.Parallel()
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf, kind := openRounds(t, source, func(run *holdfast.Run, round int) (bool, error) {
			if round == 0 {
				if err := run.Publish("began", round); err != nil {
					return false, err
				}
			}
			if err := playRound(run, round); err != nil {
				return false, err
			}
			_, err := nextRound.Wait(run)
			return round == rounds-1, err
		})
		job, err := kind.Enqueue(ctx, hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		followed := follow(ctx, hf, job.ID)
		offset := int64(0)
		for round := range rounds {
			item, err := hf.WaitPublished(ctx, job.ID, "round", offset)
			if err != nil || string(item.Value) != strconv.Itoa(round) || item.Offset <= offset {
				t.Fatalf("round %d: %s at %d after %d, %v", round, item.Value, item.Offset, offset, err)
			}
			offset = item.Offset
			if _, err := nextRound.Send(ctx, hf, job.ID, round); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := job.Wait(ctx); err != nil || n != rounds-1 {
			t.Fatal(n, err)
		}
		wantFollowed(t, followed, rounds)
		if _, err := hf.WaitPublished(ctx, job.ID, "round", offset); !errors.Is(err, holdfast.ErrNotFound) {
			t.Errorf("there is no later value: %v", err)
		}
		for key, want := range map[string]string{"began": "0", "round": strconv.Itoa(rounds - 1)} {
			if item, ok, err := hf.Published(ctx, job.ID, key); err != nil || !ok || string(item.Value) != want {
				t.Errorf("%s is %s, %v, %v", key, item.Value, ok, err)
			}
		}
		wantPages(t, hf, job.ID, wantLog(rounds))

		// A fork from the second step of the last round keeps what was before it.
		entries, err := hf.JournalEntries(ctx, job.ID, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		step := slices.IndexFunc(entries, func(e holdfast.JournalEntry) bool { return e.Name == "log" }) + 1
		forked, err := hf.Fork(ctx, "once more", job.ID, holdfast.Fork{From: entries[step].Path})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nextRound.Send(ctx, hf, forked, 0); err != nil {
			t.Fatal(err)
		}
		wantFollowed(t, follow(ctx, hf, forked), rounds)
		wantPages(t, hf, forked, wantLog(rounds))
		if item, ok, err := hf.Published(ctx, forked, "began"); err != nil || !ok || string(item.Value) != "0" {
			t.Errorf("in the fork began is %s, %v, %v", item.Value, ok, err)
		}
		// A fork from the beginning starts the last round with an empty journal.
		fromStart, err := hf.Fork(ctx, "from the beginning", job.ID, holdfast.Fork{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := nextRound.Send(ctx, hf, fromStart, 0); err != nil {
			t.Fatal(err)
		}
		wantFollowedOnly(t, follow(ctx, hf, fromStart), wantLog(rounds)[manyItems-perRound:])
	})
}

// TestRoundsThatRace: a follower that polls while the job continues as new misses nothing, and gets
// nothing twice.
func TestRoundsThatRace(t *testing.T) {
	t.Parallel()
	const many = 25
	onDatabases(t, func(t *testing.T, source store.Source) {
		ctx := t.Context()
		hf, kind := openRounds(t, source, func(run *holdfast.Run, round int) (bool, error) {
			return round == many-1, playRound(run, round)
		})
		job, err := kind.Enqueue(ctx, hf, 0)
		if err != nil {
			t.Fatal(err)
		}
		followed := follow(ctx, hf, job.ID)
		// And a reader that polls all the time, in small pages.
		var looked []holdfast.StreamItem
		for ended := false; ; {
			after := int64(0)
			if len(looked) > 0 {
				after = looked[len(looked)-1].Offset
			}
			page, err := hf.Stream(ctx, job.ID, "log", after, 2)
			if err != nil {
				t.Fatal(err)
			}
			if looked = append(looked, page...); ended && len(page) == 0 {
				break
			}
			record, err := hf.Get(ctx, job.ID)
			if err != nil {
				t.Fatal(err)
			}
			ended = record.State.Finished()
		}
		wantItems(t, "looked at", looked, wantLog(many))
		wantFollowed(t, followed, many)
		if item, ok, err := hf.Published(ctx, job.ID, "round"); err != nil || !ok || string(item.Value) != strconv.Itoa(many-1) {
			t.Errorf("round is %s, %v, %v", item.Value, ok, err)
		}
	})
}

// followed is what a follower has received.
type followed struct {
	items []holdfast.StreamItem
	err   error
}

// follow follows the stream of a job to its end.
func follow(ctx context.Context, hf *holdfast.Client, id holdfast.ID) <-chan followed {
	done := make(chan followed, 1)
	go func() {
		var f followed
		for item, err := range hf.Follow(ctx, id, "log", 0) {
			if f.err = err; err == nil {
				f.items = append(f.items, item)
			}
		}
		done <- f
	}()
	return done
}

func wantFollowed(t *testing.T, done <-chan followed, n int) {
	t.Helper()
	wantFollowedOnly(t, done, wantLog(n))
}

func wantFollowedOnly(t *testing.T, done <-chan followed, want []string) {
	t.Helper()
	f := <-done
	if f.err != nil {
		t.Error(f.err)
	}
	wantItems(t, "followed", f.items, want)
}

// wantPages reads a stream in pages.
func wantPages(t *testing.T, hf *holdfast.Client, id holdfast.ID, want []string) {
	t.Helper()
	var read []holdfast.StreamItem
	for after := int64(0); ; after = read[len(read)-1].Offset {
		page, err := hf.Stream(t.Context(), id, "log", after, 4)
		if err != nil {
			t.Fatal(err)
		}
		if read = append(read, page...); len(page) < 4 {
			break
		}
	}
	wantItems(t, "read", read, want)
}
