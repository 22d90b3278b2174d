package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
	"github.com/holdfastdev/holdfast/store"
)

// dying makes what requests were answered be lost once dead is set, as if the server died at that
// moment. What they may take is over at once.
func (by *tampered) dying() (dead *atomic.Bool) {
	dead = &atomic.Bool{}
	by.apply = func(b *store.Batch) error {
		if !dead.Load() {
			return nil
		}
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
	return dead
}

// call is a request.
type call struct{ path, body string }

// doing are requests of which a second one would do something again, by their operations.
func doing(s *apitest.Server) map[string]call {
	s.Helper()
	post := func(status int, path, body string) apitest.Answer { return s.OK(status, http.MethodPost, path, body) }
	post(http.StatusOK, "/events/on", `{}`)
	post(http.StatusCreated, "/jobs", `{"kind":"mail","queue":"letters","delay":"1h"}`)
	post(http.StatusCreated, "/endpoints", `{"kind":"invoice","url":"https://example.com/invoices"}`)
	post(http.StatusCreated, "/webhooks", `{"name":"crm","url":"https://example.com/events","events":["job.failed"]}`)
	post(http.StatusCreated, "/schedules", `{"name":"nightly","cron":"0 3 * * *","job":{"kind":"report"}}`)
	delivery, _ := post(http.StatusOK, "/webhooks/crm/test", `{}`).JSON["id"].(string)
	stuck := s.Enqueue(map[string]any{"kind": "fails", "args": "ann", "ordering_key": "k", "keep_turn": true})
	reaches(s, stuck, store.Failed)
	fails := func() string { return "/jobs/" + failed(s) }
	waits := func() string {
		return "/jobs/" + reaches(s, s.Enqueue(map[string]any{"kind": "hands over", "args": "ann"}), store.Waiting)
	}
	return map[string]call{
		"batch-create":        {"/batches", `{"name":"import"}`},
		"endpoint-create":     {"/endpoints", `{"kind":"other","url":"https://example.com/invoices"}`},
		"endpoint-rotate":     {"/endpoints/invoice/rotate", `{}`},
		"job-retry":           {fails() + "/retry", `{}`},
		"job-resume":          {fails() + "/resume", `{}`},
		"job-fork":            {fails() + "/fork", `{}`},
		"job-continue-as-new": {fails() + "/continue-as-new", `{"args":"bob"}`},
		"job-complete":        {waits() + "/complete", `{"result":"sent"}`},
		"job-fail":            {waits() + "/fail", `{"error":"it came back"}`},
		"job-skip":            {"/jobs/" + stuck + "/skip", `{}`},
		"key-create":          {"/keys", `{"name":"ci","role":"viewer"}`},
		"namespace-create":    {"/namespaces", `{"name":"shop"}`},
		"operation-start":     {"/operations", `{"action":"cancel","filter":{"kind":["none"]}}`},
		"queue-drain":         {"/queues/letters/drain", `{}`},
		"schedule-create":     {"/schedules", `{"name":"hourly","every":"1h","job":{"kind":"report"}}`},
		"schedule-trigger":    {"/schedules/nightly/trigger", `{}`},
		"webhook-create":      {"/webhooks", `{"name":"other","url":"https://example.com/events","events":["job.failed"]}`},
		"webhook-rotate":      {"/webhooks/crm/rotate", `{}`},
		"webhook-test":        {"/webhooks/crm/test", `{}`},
		"webhook-redeliver":   {"/webhooks/crm/deliveries/" + delivery + "/redeliver", `{}`},
	}
}

// TestAllThatIsDoneOnce: each operation of which a second request would do something again is among
// those of TestADeadServerHasDoneItOnce: what it does has to note that it has happened.
func TestAllThatIsDoneOnce(t *testing.T) {
	t.Parallel()
	onTampered(t, func(s *apitest.Server, _ *tampered) {
		start(s)
		known := doing(s)
		data, err := server.Document()
		var document struct {
			Paths map[string]map[string]struct {
				ID    string `json:"operationId"` //nolint:tagliatelle // as OpenAPI has it
				Scope string `json:"x-scope"`     //nolint:tagliatelle // the same
			} `json:"paths"`
		}
		if err == nil {
			err = json.Unmarshal(data, &document)
		}
		if err != nil {
			s.Fatal(err)
		}
		once := 0
		for _, path := range document.Paths {
			op, is := path["post"]
			if !is || api.RepeatOf(op.ID, access.Scope(op.Scope)) != api.Once {
				continue
			}
			if once++; known[op.ID] == (call{}) {
				s.Errorf("%s is not tried", op.ID)
			}
		}
		if once != len(known) {
			s.Errorf("%d operations are done once, and %d are tried", once, len(known))
		}
	})
}

// TestADeadServerHasDoneItOnce: a server dies after it has done what was asked, and before that was
// kept. Who asks again learns that it was done, and nothing is done twice.
func TestADeadServerHasDoneItOnce(t *testing.T) {
	t.Parallel()
	onTampered(t, func(s *apitest.Server, by *tampered) {
		dead := by.dying()
		start(s)
		all := doing(s)
		dead.Store(true)
		for id, c := range all {
			a := s.Do(http.MethodPost, c.path, c.body, keyHeader, id)
			if a.Status >= http.StatusMultipleChoices {
				s.Errorf("%s: %d %s", id, a.Status, a.Text)
				continue
			}
			s.Refused(http.StatusConflict, "answer_not_kept", http.MethodPost, c.path, c.body, keyHeader, id)
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
		dead, away := by.dying(), atomic.Bool{}
		by.retry = func(*store.RetryParams) error {
			if away.Load() {
				return store.ErrUnavailable
			}
			return nil
		}
		start(s)
		id := failed(s)
		dead.Store(true)
		away.Store(true)
		s.Refused(http.StatusServiceUnavailable, "unavailable", http.MethodPost, "/jobs/"+id+"/retry", `{}`, keyHeader, "retry")
		away.Store(false)
		s.OK(http.StatusOK, http.MethodPost, "/jobs/"+id+"/retry", `{}`, keyHeader, "retry")
		s.Refused(http.StatusConflict, "answer_not_kept", http.MethodPost, "/jobs/"+id+"/retry", `{}`, keyHeader, "retry")
	})
}

// start starts a node on which jobs fail, and hand themselves over.
func start(s *apitest.Server) {
	s.Helper()
	fails, handsOver := holdfast.NewKind[string, string]("fails"), holdfast.NewKind[string, string]("hands over")
	err := errors.Join(
		fails.Handle(s.Client, func(*holdfast.Run, string) (string, error) { return "", holdfast.Fail(errors.New("no such mailbox")) }),
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
	return reaches(s, s.Enqueue(map[string]any{"kind": "fails", "args": "ann"}), store.Failed)
}

// reaches waits until a job is in a state, and returns its id.
func reaches(s *apitest.Server, id string, state store.State) string {
	s.Helper()
	for s.OK(http.StatusOK, http.MethodGet, "/jobs/"+id, nil).JSON["state"] != state.String() {
		time.Sleep(time.Millisecond) //nolint:forbidigo // a node of real time runs it
	}
	return id
}
