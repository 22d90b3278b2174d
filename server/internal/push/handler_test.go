package push_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/store"
)

func to(url string) endpoint.Push { return endpoint.Push{Target: endpoint.Target{URL: url}} }

// TestPush: what is answered ends the job, in each way that it may.
func TestPush(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		ok := receive(t, says(200, `{"sent":true}`))
		p := to(ok.URL + "/mail?x=1")
		p.Headers = map[string]string{"Authorization": "Bearer t"}
		secret := s.endpoint("mail", p)
		job := s.enqueue("mail", `{"to":"ann"}`, holdfast.Tags("new"), holdfast.Metadata(map[string]int{"a": 1}))
		s.wantResult(job, `{"sent":true}`)
		got := ok.next(s)
		if err := endpoint.Verify(got.header, []string{secret}, time.Now(), got.body); err != nil {
			s.Error(err)
		}
		j := got.job
		if j.ID != job.ID.String() || got.header.Get("Webhook-Id") != j.ID || j.Kind != "mail" || j.Namespace != "shop" || j.Attempt != 1 ||
			string(j.Args) != `{"to":"ann"}` || len(j.Tags) != 1 || string(j.Metadata) != `{"a":1}` {
			s.Errorf("sent %s", got.body)
		}
		token := got.header.Get("Holdfast-Callback")
		if token != j.Callback.Token || j.Callback.URL != "https://jobs.example.com/api/v1/callbacks/"+token+"/complete?namespace=shop" ||
			got.header.Get("Holdfast-Callback-Url") != j.Callback.URL || got.header.Get("Authorization") != "Bearer t" {
			s.Errorf("headers %v", got.header)
		}

		for kind, answers := range map[string][]func(http.ResponseWriter, *http.Request){
			"text":     {says(200, "done")},
			"nothing":  {says(204, "")},
			"again":    {says(500, "oops"), says(503, "", "Retry-After", "0"), says(429, ""), says(200, "3")},
			"no":       {says(422, "who is ann?")},
			"redirect": {says(307, "", "Location", "http://169.254.169.254/")},
		} {
			s.endpoint(kind, to(receive(t, answers...).URL))
		}
		s.wantResult(s.enqueue("text", "1"), `"done"`)
		s.wantResult(s.enqueue("nothing", "1"), "")
		s.wantResult(s.enqueue("again", "1"), `3`)
		if said := s.wantFailure(s.enqueue("no", "1")); !strings.Contains(said, "answered 422") || !strings.Contains(said, "who is ann?") {
			s.Errorf("a refusal: %s", said)
		}
		if said := s.wantFailure(s.enqueue("redirect", "1")); !strings.Contains(said, "no redirect is followed") {
			s.Errorf("a redirect: %s", said)
		}
	})
}

// TestAccepted: a job that was answered 202 waits for its callback, without a slot, and is not sent
// again, whichever server it is that goes on.
func TestAccepted(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		r := receive(t, says(202, "later"))
		s.endpoint("slow", to(r.URL))
		p := to(r.URL)
		p.Callback = 50 * time.Millisecond
		s.endpoint("silent", p)
		job := s.enqueue("slow", "1")
		bad := s.enqueue("slow", "2")
		tokens := map[string]string{}
		for range 2 {
			got := r.next(s)
			tokens[got.job.ID] = got.job.Callback.Token
		}
		s.stop()
		s = serve(t, source, loopback)
		if err := s.client.CompleteCallback(t.Context(), tokens[job.ID.String()], map[string]int{"n": 1}); err != nil {
			s.Fatal(err)
		}
		if err := s.client.FailCallback(t.Context(), tokens[bad.ID.String()], "no such address"); err != nil {
			s.Fatal(err)
		}
		kind := holdfast.NewKind[any, map[string]int]("slow")
		if got, err := kind.Job(s.client, job.ID).Wait(s.within()); err != nil || got["n"] != 1 {
			s.Errorf("%v, %v", got, err)
		}
		if _, err := kind.Job(s.client, bad.ID).Wait(s.within()); err == nil || !strings.Contains(err.Error(), "no such address") {
			s.Errorf("failed by its callback: %v", err)
		}
		if said := s.wantFailure(s.enqueue("silent", "1")); !strings.Contains(said, "did not call back within 50ms") {
			s.Errorf("without a callback: %s", said)
		}
		if n := len(r.all()); n != 3 {
			s.Errorf("%d requests", n)
		}
	})
}

// TestAskedAgain: a job that was failed by its callback asks the endpoint again when it is retried,
// with another token and as another message.
func TestAskedAgain(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		t.Helper()
		r := receive(t, says(202, ""), says(202, ""), says(202, ""))
		s := serve(t, source, loopback)
		s.endpoint("slow", to(r.URL))
		job := s.enqueue("slow", "1")
		fails := func(got request) {
			if err := s.client.FailCallback(t.Context(), got.job.Callback.Token, "no such address"); err != nil {
				s.Fatal(err)
			}
			if said := s.wantFailure(job); !strings.Contains(said, "no such address") {
				s.Errorf("failed by its callback: %s", said)
			}
		}
		first := r.next(s)
		fails(first)
		retry := func() request {
			if _, err := s.client.Retry(t.Context(), "", job.ID); err != nil {
				s.Fatal(err)
			}
			return r.next(s)
		}
		second := retry()
		fails(second)
		third := retry()
		if err := s.client.CompleteCallback(t.Context(), third.job.Callback.Token, 3); err != nil {
			s.Fatal(err)
		}
		s.wantResult(job, "3")
		for i, got := range []request{first, second, third} {
			want := job.ID.String()
			if i > 0 {
				want = fmt.Sprintf("%s.%d", want, i+1)
			}
			if id := got.header.Get("Webhook-Id"); id != want || got.job.ID != job.ID.String() {
				t.Errorf("request %d has the id %s", i+1, id)
			}
			for _, other := range []request{first, second, third}[:i] {
				if got.job.Callback.Token == other.job.Callback.Token {
					t.Error("two requests have one token")
				}
			}
		}
	})
}

// TestPrivate: nothing is sent to an address that is not public. The job is tried again: another
// server may send there.
func TestPrivate(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, nil)
		r := receive(t, says(200, ""))
		s.endpoint("mail", to(r.URL))
		s.endpoint("meta", to("http://169.254.169.254/latest/meta-data/"))
		for _, kind := range []string{"mail", "meta"} {
			job := s.enqueue(kind, "1")
			s.until(kind+" is to be tried again", func() bool {
				is, err := s.client.Get(s.Context(), job.ID)
				return err == nil && is.State == store.Retryable && strings.Contains(is.Attempts[0].Error, "is no public address")
			})
		}
		if n := len(r.all()); n > 0 {
			s.Errorf("%d requests", n)
		}
	})
}

// TestSlow: an endpoint that does not answer in time is asked again.
func TestSlow(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		r := receive(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, says(200, `"in time"`))
		p := to(r.URL)
		p.Timeout = 100 * time.Millisecond
		s.endpoint("slow", p)
		s.wantResult(s.enqueue("slow", "1"), `"in time"`)
	})
}

// TestChanges: endpoints come and go, and change, while jobs are there.
func TestChanges(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		first, second := receive(t, says(200, "1")), receive(t, says(200, "2"))
		waits := s.enqueue("late", "1")
		s.endpoint("mail", to(first.URL))
		s.wantResult(s.enqueue("mail", "1"), "1")
		s.endpoint("late", to(first.URL))
		s.wantResult(waits, "1")
		_, err := endpoint.Update(t.Context(), s.client, "mail", func(e *endpoint.Entry[endpoint.Push]) error {
			e.Set.URL = second.URL
			return nil
		})
		if err != nil {
			s.Fatal(err)
		}
		_, secret, err := endpoint.Rotate[endpoint.Push](t.Context(), s.client, "mail", time.Hour)
		if err != nil {
			s.Fatal(err)
		}
		for len(second.all()) == 0 { // until the change is known
			if _, err := s.enqueue("mail", "1").Wait(s.within()); err != nil {
				s.Fatal(err)
			}
		}
		for {
			s.wantResult(s.enqueue("mail", "1"), "2")
			got := second.all()
			last := got[len(got)-1]
			if strings.Count(last.header.Get("Webhook-Signature"), "v1,") == 2 {
				if err := endpoint.Verify(last.header, []string{secret}, time.Now(), last.body); err != nil {
					s.Error(err)
				}
				break
			}
		}
	})
}

// TestDrained: a node that was drained leaves, and another one goes on.
func TestDrained(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, source store.Source) {
		s := serve(t, source, loopback)
		s.endpoint("mail", to(receive(t, says(200, "1")).URL))
		s.wantResult(s.enqueue("mail", "1"), "1")
		pushing := func() (living []int64) {
			nodes, err := s.client.Nodes(t.Context())
			if err != nil {
				s.Fatal(err)
			}
			for i := range nodes {
				if nodes[i].Info.Name == "push" && nodes[i].DeadAt.IsZero() {
					living = append(living, nodes[i].ID)
				}
			}
			return living
		}
		first := pushing()
		if len(first) != 1 {
			s.Fatalf("the nodes %v push", first)
		}
		if err := s.client.DrainNode(t.Context(), first[0]); err != nil {
			s.Fatal(err)
		}
		for slices.Contains(pushing(), first[0]) {
			s.wantResult(s.enqueue("mail", "2"), "1")
		}
		s.wantResult(s.enqueue("mail", "3"), "1")
	})
}
