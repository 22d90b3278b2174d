package api_test

import (
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store"
)

// dies lets what requests were answered be lost, as if the server died at that moment. What they
// may take is over at once.
func (by *tampered) dies() {
	by.apply = func(b *store.Batch) error {
		for _, r := range b.Requests {
			switch r.Phase {
			case store.RequestBegins:
				r.For = time.Nanosecond
			case store.RequestEnds, store.RequestDropped:
				r.Err = store.ErrConflict
			default:
			}
		}
		return b.Refusal()
	}
}

// doing are requests of which a second one would do something again, and their bodies.
func doing(s *apitest.Server) map[string]string {
	s.Helper()
	post := func(status int, path, body string) apitest.Answer { return s.OK(status, http.MethodPost, path, body) }
	post(http.StatusOK, "/events/on", `{}`)
	post(http.StatusCreated, "/jobs", `{"kind":"mail","queue":"letters","delay":"1h"}`)
	post(http.StatusCreated, "/endpoints", `{"kind":"invoice","url":"https://example.com/invoices"}`)
	post(http.StatusCreated, "/webhooks", `{"name":"crm","url":"https://example.com/events","events":["job.failed"]}`)
	post(http.StatusCreated, "/schedules", `{"name":"nightly","cron":"0 3 * * *","job":{"kind":"report"}}`)
	delivery, _ := post(http.StatusOK, "/webhooks/crm/test", `{}`).JSON["id"].(string)
	stuck := s.Enqueue(map[string]any{"kind": "fails", "args": "ann", "ordering_key": "k", "keep_turn": true})
	s.OK(http.StatusOK, http.MethodGet, "/jobs/"+stuck+"/result?wait=10s", nil) // until it has failed
	fails := func() string { return "/jobs/" + failed(s) }
	waits := func() string { return "/jobs/" + ended(s, handsOver, store.Waiting) }
	return map[string]string{
		"/batches":                   `{"name":"import"}`,
		"/endpoints":                 `{"kind":"other","url":"https://example.com/invoices"}`,
		"/endpoints/invoice/rotate":  `{}`,
		fails() + "/retry":           `{}`,
		fails() + "/resume":          `{}`,
		fails() + "/fork":            `{}`,
		fails() + "/continue-as-new": `{"args":"bob"}`,
		waits() + "/complete":        `{"result":"sent"}`,
		waits() + "/fail":            `{"error":"it came back"}`,
		"/keys":                      `{"name":"ci","role":"viewer"}`,
		"/namespaces":                `{"name":"shop"}`,
		"/operations":                `{"action":"cancel","filter":{"kind":["none"]}}`,
		"/queues/letters/drain":      `{}`,
		"/schedules":                 `{"name":"hourly","every":"1h","job":{"kind":"report"}}`,
		"/schedules/nightly/trigger": `{}`,
		"/webhooks":                  `{"name":"other","url":"https://example.com/events","events":["job.failed"]}`,
		"/webhooks/crm/rotate":       `{}`,
		"/webhooks/crm/test":         `{}`,
		"/webhooks/crm/deliveries/" + delivery + "/redeliver": `{}`,
		"/jobs/" + stuck + "/skip":                            `{}`,
	}
}

// TestADeadServerHasDoneItOnce: a server dies after it has done what was asked, and before that was
// kept. Who asks again learns that it was done, and nothing is done twice.
func TestADeadServerHasDoneItOnce(t *testing.T) {
	t.Parallel()
	onTampered(t, func(s *apitest.Server, by *tampered) {
		start(s)
		all := doing(s)
		by.dies()
		for path, body := range all {
			a := s.Do(http.MethodPost, path, body, keyHeader, path)
			if a.Status >= http.StatusMultipleChoices {
				s.Errorf("%s: %d %s", path, a.Status, a.Text)
				continue
			}
			s.Refused(http.StatusConflict, "answer_not_kept", http.MethodPost, path, body, keyHeader, path)
		}
		failed(s)
		s.OK(http.StatusOK, http.MethodPost, "/dead/redrive", `{"all":true}`, keyHeader, "redrive")
		s.Refused(http.StatusConflict, "outcome_unknown", http.MethodPost, "/dead/redrive", `{"all":true}`, keyHeader, "redrive")
	})
}

// TestADeadServerHasNotDoneIt: a server dies before it has done what was asked. Who asks again has
// it done.
func TestADeadServerHasNotDoneIt(t *testing.T) {
	t.Parallel()
	onTampered(t, func(s *apitest.Server, by *tampered) {
		start(s)
		id := failed(s)
		by.dies()
		var dead atomic.Bool
		dead.Store(true)
		by.retry = func(*store.RetryParams) error {
			if dead.Load() {
				return store.ErrUnavailable
			}
			return nil
		}
		s.Refused(http.StatusServiceUnavailable, "unavailable", http.MethodPost, "/jobs/"+id+"/retry", `{}`, keyHeader, "retry")
		dead.Store(false)
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/retry", `{}`, keyHeader, "retry")
		s.Refused(http.StatusConflict, "answer_not_kept", http.MethodPost, "/jobs/"+id+"/retry", `{}`, keyHeader, "retry")
	})
}

// The kinds of jobs whose handlers fail, and hand their jobs over.
var (
	fail      = holdfast.NewKind[string, string]("fails")
	handsOver = holdfast.NewKind[string, string]("hands over")
)

// start starts a node that handles them.
func start(s *apitest.Server) {
	s.Helper()
	err := errors.Join(
		fail.Handle(s.Client, func(*holdfast.Run, string) (string, error) { return "", holdfast.Fail(errors.New("no such mailbox")) }),
		handsOver.Handle(s.Client, func(*holdfast.Run, string) (string, error) { return "", holdfast.HandOver(0) }),
		s.Client.Start(s.Context()),
	)
	if err != nil {
		s.Fatal(err)
	}
}

// failed makes a job that has failed.
func failed(s *apitest.Server) string {
	s.Helper()
	return ended(s, fail, store.Failed)
}

// ended makes a job whose run has ended, in a state.
func ended(s *apitest.Server, kind holdfast.Kind[string, string], state store.State, opts ...holdfast.EnqueueOption) string {
	s.Helper()
	job, err := kind.Enqueue(s.Context(), s.Client, "ann", opts...)
	for err == nil {
		record, found := s.Client.Get(s.Context(), job.ID)
		if err = found; err == nil && record.State == state {
			return job.ID.String()
		}
		time.Sleep(time.Millisecond) //nolint:forbidigo // a node of real time runs it
	}
	s.Fatal(err)
	return ""
}
