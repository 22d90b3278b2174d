package push_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/store"
)

func at(url string, f endpoint.Filter) endpoint.Webhook {
	return endpoint.Webhook{Target: endpoint.Target{URL: url}, Filter: f}
}

// cancelled enqueues jobs and cancels them, and returns their ids.
func (s *server) cancelled(kind string, n int) (ids []string) {
	s.Helper()
	for range n {
		job := s.enqueue(kind, "1")
		if err := job.Cancel(s.Context(), "not needed"); err != nil {
			s.Fatal(err)
		}
		ids = append(ids, job.ID.String())
	}
	return ids
}

func messageOf(s *server, r request) (m endpoint.Message) {
	s.Helper()
	if err := json.Unmarshal(r.body, &m); err != nil {
		s.Errorf("%v: %s", err, r.body)
	}
	return m
}

// wantTold waits until a receiver was told of jobs, in any order, and of each once.
func (s *server) wantTold(r *receiver, ids []string) {
	s.Helper()
	var told []string
	for range ids {
		told = append(told, messageOf(s, r.next(s)).Data.ID)
	}
	slices.Sort(told)
	want := slices.Sorted(slices.Values(ids))
	if !slices.Equal(told, want) {
		s.Errorf("told of %d jobs %v, want %v", len(told), told, want)
	}
}

// deliveries are the jobs that deliver, the newest first.
func (s *server) deliveries(w *endpoint.Entry[endpoint.Webhook]) []store.Record {
	s.Helper()
	page, err := s.client.List(s.Context(), store.Filter{Kinds: []string{endpoint.DeliveryKind}, Tags: []string{w.Set.ID}}, "", 1000)
	if err != nil {
		s.Fatal(err)
	}
	return page.Jobs
}

// reader is the job of the only reader.
func (s *server) reader() *store.Record {
	s.Helper()
	page, err := s.client.List(s.Context(), store.Filter{Kinds: []string{"holdfast.webhook"}}, "", 10)
	if err != nil || len(page.Jobs) != 1 {
		s.Fatal(len(page.Jobs), err)
	}
	return &page.Jobs[0]
}

// until waits for a condition.
func (s *server) until(what string, is func() bool) {
	s.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for ctx := s.within(); !is(); {
		select {
		case <-ctx.Done():
			s.Fatalf("%s: not in time", what)
		case <-tick.C:
		}
	}
}

// TestWebhook: it is told of what its filter lets pass from when it was made, signed; not of other
// events.
func TestWebhook(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		if _, err := events.On(t.Context(), s.client); err != nil {
			t.Fatal(err)
		}
		s.cancelled("mail", 2)
		r, all := receive(t, says(204, "")), receive(t, says(200, "ok"))
		_, secret := s.webhook("crm", at(r.URL, endpoint.Filter{Kinds: []string{"mail"}}))
		s.webhook("all", at(all.URL, endpoint.Filter{Events: []endpoint.Event{"job.available"}}))
		other, err := s.client.In("other")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := holdfast.NewTask[int]("mail").Enqueue(t.Context(), other, 1); err != nil {
			t.Fatal(err)
		}
		ids := s.cancelled("mail", 1)
		others := s.cancelled("report", 1)
		got := r.next(s)
		if err := endpoint.Verify(got.header, []string{secret}, time.Now(), got.body); err != nil {
			s.Error(err)
		}
		m := messageOf(s, got)
		if m.Type != "job.cancelled" || m.Data.ID != ids[0] || m.Data.Kind != "mail" || m.Data.Queue != "default" || m.Data.Namespace != "shop" ||
			m.Data.State != "cancelled" || m.Timestamp.IsZero() || m.Data.Position == "" {
			s.Errorf("told %s", got.body)
		}
		s.wantTold(all, append(ids, others...))
		if n := len(r.all()); n != 1 {
			s.Errorf("told %d times", n)
		}
	})
}

// TestFilters: of what an expression is not true a webhook is not told; of what it has no value for
// it is, and of everything if it does not compile. A change of it counts.
func TestFilters(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		r, broken, half := receive(t, says(200, "")), receive(t, says(200, "")), receive(t, says(200, ""))
		where := func(text string) endpoint.Filter { return endpoint.Filter{Where: text} }
		s.webhook("crm", at(r.URL, where(`event.type == "job.cancelled" && event.data.kind.startsWith("mail")`)))
		s.webhook("broken", at(broken.URL, where(`payload.`)))
		s.webhook("half", at(half.URL, where(`event.data.kind == "mail-2" ? event.data.nothing : false`)))
		reports, first := s.cancelled("report", 2), s.cancelled("mail-1", 2)
		second := s.cancelled("mail-2", 2)
		s.wantTold(r, slices.Concat(first, second))
		s.wantTold(broken, slices.Concat(reports, first, second))
		s.wantTold(half, second)

		_, err := endpoint.Update(t.Context(), s.client, "crm", func(e *endpoint.Entry[endpoint.Webhook]) error {
			e.Set.Filter.Where = `event.data.kind == "report"`
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		s.until("it is told of others", func() bool {
			s.wantTold(broken, s.cancelled("report", 1))
			return len(r.all()) > len(first)+len(second)
		})
	})
}

// TestTwoServers: with two servers that read, of which one stops and others come, each event is
// delivered once, and the jobs of deliveries are as many as the events.
func TestTwoServers(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		one, two := serve(t, source, loopback), serve(t, source, loopback)
		r := receive(t, says(200, ""))
		w, _ := one.webhook("crm", at(r.URL, endpoint.Filter{}))
		ids := one.cancelled("mail", 20)
		one.stop()
		ids = append(ids, two.cancelled("mail", 20)...)
		three := serve(t, source, loopback)
		two.stop()
		ids = append(ids, three.cancelled("mail", 20)...)
		three.wantTold(r, ids)
		if n := len(three.deliveries(&w)); n != len(ids) {
			three.Errorf("%d deliveries of %d events", n, len(ids))
		}
	})
}

// TestGone: 410 disables the webhook; when it is enabled again it is told of what happens from then
// on.
func TestGone(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		r := receive(t, says(410, ""), says(200, ""))
		w, _ := s.webhook("crm", at(r.URL, endpoint.Filter{}))
		s.cancelled("mail", 1)
		r.next(s)
		s.until("it is disabled", func() bool {
			e, err := endpoint.Get[endpoint.Webhook](t.Context(), s.client, "crm")
			return err == nil && strings.Contains(e.Set.Disabled, "410")
		})
		s.until("its reader has ended", func() bool { return s.reader().State == store.Completed })
		s.cancelled("mail", 3) // of which it is told nothing
		_, err := endpoint.Update(t.Context(), s.client, "crm", func(e *endpoint.Entry[endpoint.Webhook]) error {
			return endpoint.Enable(t.Context(), s.client, &e.Set)
		})
		if err != nil {
			t.Fatal(err)
		}
		ids := s.cancelled("mail", 2)
		s.wantTold(r, ids)
		for _, d := range s.deliveries(&w) {
			if d.State == store.Failed && !strings.Contains(d.Error, "410") {
				s.Errorf("failed with %s", d.Error)
			}
		}
	})
}

// TestRetried: what fails is delivered again, with the same id; a delivery may be repeated later,
// and tested.
func TestRetried(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		r := receive(t, says(503, "", "Retry-After", "1"), says(200, ""))
		w, _ := s.webhook("crm", at(r.URL, endpoint.Filter{}))
		ids := s.cancelled("mail", 1)
		first, second := r.next(s), r.next(s)
		if id := first.header.Get("Webhook-Id"); id == "" || second.header.Get("Webhook-Id") != id || string(first.body) != string(second.body) {
			s.Errorf("two attempts differ: %v, %v", first, second)
		}
		if m := messageOf(s, second); m.Data.ID != ids[0] {
			s.Errorf("told %s", second.body)
		}
		if _, err := endpoint.Redeliver(t.Context(), s.client, &w, s.deliveries(&w)[0].ID); err != nil {
			t.Fatal(err)
		}
		if _, err := endpoint.Redeliver(t.Context(), s.client, &w, s.reader().ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a job that delivers nothing: %v", err)
		}
		if again := r.next(s); again.header.Get("Webhook-Id") != first.header.Get("Webhook-Id") {
			s.Errorf("repeated as %v", again.header)
		}
		if _, err := endpoint.SendTest(t.Context(), s.client, &w); err != nil {
			t.Fatal(err)
		}
		if m := messageOf(s, r.next(s)); m.Type != endpoint.Test {
			s.Errorf("tested by %+v", m)
		}
	})
}

// TestReader: a reader that was cancelled disables its webhook, and one whose events are gone goes
// on with those that are kept.
func TestReader(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		r := receive(t, says(200, ""))
		s.webhook("crm", at(r.URL, endpoint.Filter{}))
		s.wantTold(r, s.cancelled("mail", 1))
		for _, on := range []func(context.Context, *holdfast.Client) (events.Status, error){events.Off, events.On} {
			if _, err := on(t.Context(), s.client); err != nil {
				t.Fatal(err)
			}
		}
		s.wantTold(r, s.cancelled("mail", 1))
		if _, err := s.client.Cancel(t.Context(), "enough", s.reader().ID); err != nil {
			t.Fatal(err)
		}
		s.until("it is disabled", func() bool {
			e, err := endpoint.Get[endpoint.Webhook](t.Context(), s.client, "crm")
			return err == nil && strings.Contains(e.Set.Disabled, "has ended: cancelled")
		})
	})
}
