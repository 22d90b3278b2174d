package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
	"github.com/holdfastdev/holdfast/store/storetest"
)

// tell switches the feed on.
func tell(t *testing.T, s store.Store) store.FeedStatus {
	t.Helper()
	status, err := s.SetFeed(t.Context(), true, "")
	if err != nil || !status.On {
		t.Fatalf("SetFeed: %+v, %v", status, err)
	}
	return status
}

// toldOf returns all changes.
func toldOf(t *testing.T, s store.Store) store.FeedPage {
	t.Helper()
	if err := s.OrderFeed(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := s.ReadFeed(t.Context(), store.FeedParams{Limit: store.FeedMost})
	if err != nil {
		t.Fatal(err)
	}
	return page
}

// TestFeedAndReset: a schema whose feed is on can be reset, and is off then.
func TestFeedAndReset(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	tell(t, s)
	enqueue(t, s, newJob())
	reset(t, config)
	again := open(t, config)
	if status, err := again.FeedStatus(t.Context()); err != nil || status.On {
		t.Fatalf("after the reset: %+v, %v", status, err)
	}
	tell(t, again)
	enqueue(t, again, newJob())
	if page := toldOf(t, again); len(page.Changes) != 1 {
		t.Fatalf("told: %+v", page)
	}
}

// TestFeedOfAnotherServer: in a server whose transactions have smaller numbers than those of the
// one that the database came from, the feed begins another life.
func TestFeedOfAnotherServer(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	before := tell(t, s)
	enqueue(t, s, newJob())
	page := toldOf(t, s)
	conn := connect(t, config.URL)
	_, err := conn.Exec(t.Context(), "UPDATE "+config.SchemaName+".feed_order SET snap = '900000000000:900000000000:'")
	if err != nil {
		t.Fatal(err)
	}
	enqueue(t, s, newJob())
	if err := s.OrderFeed(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = s.ReadFeed(t.Context(), store.FeedParams{After: page.Next, Limit: 1})
	if reset, ok := errors.AsType[*store.FeedResetError](err); !ok || reset.Newest.Life == before.Newest.Life {
		t.Fatalf("a position of the other server: %v", err)
	}
	enqueue(t, s, newJob())
	if page := toldOf(t, s); len(page.Changes) != 1 || page.Changes[0].Position.Count != 1 {
		t.Fatalf("told then: %+v", page)
	}
}

// TestRetentionTellsNothing: jobs that outlive their day move to another partition, which is no
// change of their state.
func TestRetentionTellsNothing(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	node := join(t, s)
	enqueue(t, s, newJob(at(clock)), newJob(at(clock)), newJob(at(clock)))
	runs, err := s.Claim(t.Context(), demand(node, 1, 10))
	if err != nil || len(runs) != 3 {
		t.Fatalf("claimed %d, %v", len(runs), err)
	}
	kept := completed(runs[0])
	kept.State, kept.Reason, kept.Error = store.Failed, store.ReasonError, "kept longer"
	batch := &store.Batch{Outcomes: []*store.Outcome{kept, completed(runs[1]), completed(runs[2])}}
	if err := store.ApplyEach(t.Context(), s, batch); err != nil {
		t.Fatal(err)
	}
	tell(t, s)
	clock.Advance(50 * time.Hour)
	retained, err := s.Retain(t.Context(), store.Retention{Completed: time.Hour, Failed: 90 * 24 * time.Hour})
	if err != nil || retained.Jobs != 2 {
		t.Fatalf("Retain: %+v, %v", retained, err)
	}
	if record, err := s.Get(t.Context(), "", runs[0].Job.ID); err != nil || record.State != store.Failed {
		t.Fatalf("the job that is kept: %+v, %v", record, err)
	}
	if page := toldOf(t, s); len(page.Changes) > 0 {
		t.Fatalf("told: %+v", page.Changes)
	}
}

// TestFeedNeedsNoRights: a role that may enqueue and no more is told of, too.
func TestFeedNeedsNoRights(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	tell(t, s)
	admin := connect(t, config.URL)
	role := config.SchemaName + "_role"
	for _, sql := range []string{
		"CREATE ROLE " + role + " LOGIN PASSWORD 'x'",
		"GRANT USAGE ON SCHEMA " + config.SchemaName + " TO " + role,
		"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA " + config.SchemaName + " TO " + role,
		"REVOKE ALL ON " + config.SchemaName + ".feed_raw, " + config.SchemaName + ".feed_order FROM " + role,
	} {
		if _, err := admin.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	t.Cleanup(func() {
		_, _ = admin.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role) // the server ends with the tests
	})
	conn := connect(t, asRole(t, config.URL, role))
	for _, sql := range []string{ // nor may it tell what never was
		"CREATE TEMP TABLE lie (id uuid, state smallint, reason text)",
		"CREATE TRIGGER lie AFTER INSERT ON lie REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION " +
			config.SchemaName + ".feed_deferred()",
	} {
		_, err := conn.Exec(t.Context(), sql)
		if denied := err != nil; denied != strings.Contains(sql, "TRIGGER") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	enqueued(t, conn, config.SchemaName, `'send'`)
	if page := toldOf(t, s); len(page.Changes) != 1 || page.Changes[0].Kind != "send" {
		t.Fatalf("told: %+v", page)
	}
}

// TestFeedWaitsForReaders: a transaction that only reads is waited for, and who gives up is told
// what to do. Others do not wait for longer than a try.
func TestFeedWaitsForReaders(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	s := open(t, config)
	tx, err := connect(t, config.URL).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), "SELECT count(*) FROM "+config.SchemaName+".finished"); err != nil {
		t.Fatal(err)
	}
	within := func(d time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		_, err := s.SetFeed(ctx, true, "")
		return err
	}
	patience := 400 * time.Millisecond
	err = within(patience)
	for errors.Is(err, context.DeadlineExceeded) && patience < 10*time.Second { // over before a try was
		patience *= 2
		err = within(patience)
	}
	if !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "end it, and try again") {
		t.Errorf("it was told %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := s.SetFeed(t.Context(), true, "")
		done <- err
	}()
	enqueue(t, s, newJob()) // does not wait until the reader ends
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestRetentionWithoutTheFeeds: what goes wrong with old changes does not keep old jobs.
func TestRetentionWithoutTheFeeds(t *testing.T) {
	t.Parallel()
	config := fresh(t)
	clock := storetest.NewClock()
	config.Clock = clock.Now
	s := open(t, config)
	tell(t, s)
	job := newJob(at(clock))
	enqueue(t, s, job)
	if _, _, err := s.Cancel(t.Context(), store.CancelParams{Jobs: []store.ID{job.Job.ID}}); err != nil {
		t.Fatal(err)
	}
	clock.Advance(50 * time.Hour)
	defer postgres.Break(s, "feed_forget")()
	if _, err := s.Retain(t.Context(), store.Retention{Cancelled: time.Hour, Feed: time.Hour}); err == nil {
		t.Error("the error of the feed is not told")
	}
	if _, err := s.Get(t.Context(), "", job.Job.ID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the old job: %v", err)
	}
}
