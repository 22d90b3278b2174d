package messages_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

func TestMain(m *testing.M) { apitest.Main(m) }

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// unknown is the id of no job.
const unknown = "0198c0de-7b1c-7d3a-9f00-0123456789ab"

var (
	order    = holdfast.NewKind[json.RawMessage, string]("order")
	approved = holdfast.NewSignal[string]("approved")
	addLine  = holdfast.NewUpdate[int, int]("add line")
)

// start starts a node that runs orders: one answers requests, publishes the token of a callback,
// waits for that, and then for a signal.
func start(s *apitest.Server) {
	err := order.Handle(s.Client, func(run *holdfast.Run, _ json.RawMessage) (string, error) {
		err := addLine.Handle(run, nil, func(_ *holdfast.Run, n int) (int, error) {
			if n < 0 {
				return 0, errors.New("less than nothing")
			}
			return n + 1, nil
		})
		if err != nil {
			return "", err
		}
		c, err := run.Callback("paid")
		if err != nil {
			return "", err
		}
		if err := run.Publish("token", c.Token); err != nil {
			return "", err
		}
		var paid string
		if err := c.Wait(run, &paid); err != nil {
			return "", err
		}
		by, err := approved.Wait(run)
		return paid + " " + by, err
	})
	if err == nil {
		err = s.Client.Start(s.Context())
	}
	if err != nil {
		s.Fatal(err)
	}
}

func token(s *apitest.Server, id string) string {
	s.Helper()
	value, _ := s.OK(200, get, "/jobs/"+id+"/published/token?wait=30s", nil).JSON["value"].(string)
	return value
}

// TestMessages: a job answers a request, is called back, receives a signal, and ends by them.
func TestMessages(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		start(s)
		id := s.Enqueue(map[string]any{"kind": "order", "key": "order-42"})
		called := s.OK(200, post, "/jobs/"+id+"/updates/add%20line", `{"payload":41,"dedup_key":"line-7"}`)
		if called.JSON["answer"] != 42.0 || called.JSON["state"] != "answered" {
			s.Errorf("called: %s", called.Text)
		}
		if again := s.OK(200, post, "/jobs/"+id+"/updates/add%20line", `{"payload":1,"dedup_key":"line-7"}`); again.JSON["answer"] != 42.0 {
			s.Errorf("called again: %s", again.Text)
		}
		if bad := s.OK(200, post, "/jobs/"+id+"/updates/add%20line", `{"payload":-1}`); bad.JSON["state"] != "failed" || bad.JSON["error"] != "less than nothing" {
			s.Errorf("a request that fails: %s", bad.Text)
		}
		if late := s.OK(202, post, "/jobs/"+id+"/updates/other?wait=0s", nil); late.JSON["state"] != "waiting" || late.Header.Get("Retry-After") == "" {
			s.Errorf("a request that nobody answers: %s", late.Text)
		}
		hfc := token(s, id)
		s.OK(200, post, "/callbacks/"+hfc+"/heartbeat", nil)
		s.OK(200, post, "/callbacks/"+hfc+"/complete", `{"payload":"visa"}`)
		s.Refused(409, "conflict", post, "/callbacks/"+hfc+"/complete", `{"payload":"cash"}`)

		const signal = `{"name":"approved","payload":"ada","dedup_key":"mail-1"}`
		if sent := s.OK(200, post, "/kinds/order/keys/order-42/signals", signal); sent.JSON["id"] != id || sent.JSON["duplicate"] != false {
			s.Errorf("sent: %s", sent.Text)
		}
		end := s.OK(200, get, "/jobs/"+id+"/result?wait=30s", nil)
		if end.JSON["result"] != "visa ada" {
			s.Errorf("the end: %s", end.Text)
		}
		s.Refused(409, "conflict", post, "/jobs/"+id+"/signals", `{"name":"approved"}`)
	})
}

// TestRefusals: what is not there, is of another namespace, or makes no sense.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	foreign, _ := s.OK(201, post, "/jobs?namespace=other", `{"kind":"order","key":"k"}`).JSON["id"].(string)
	for _, id := range []string{unknown, foreign} {
		s.Refused(404, "not_found", post, "/jobs/"+id+"/signals", `{"name":"approved"}`)
		s.Refused(404, "not_found", post, "/jobs/"+id+"/updates/x?wait=0s", nil)
		s.Refused(404, "not_found", get, "/jobs/"+id+"/published/x", nil)
		s.Refused(404, "not_found", get, "/jobs/"+id+"/streams/x", nil)
	}
	s.Refused(404, "not_found", post, "/kinds/order/keys/k/signals", `{"name":"approved"}`)
	mine := s.Enqueue(map[string]any{"kind": "order"})
	s.OK(200, post, "/jobs/"+mine+"/signals", `{"name":"approved"}`) // it waits for the job
	s.Refused(404, "not_found", get, "/jobs/"+mine+"/published/x", nil)
	s.Refused(422, "invalid", post, "/jobs/"+mine+"/signals", `{}`)
	s.Refused(422, "invalid", post, "/jobs/"+mine+"/signals", `{"name":"a\u0000b"}`)
	s.Refused(422, "invalid", post, "/jobs/"+mine+"/updates/x?wait=2m", nil)
	s.Refused(422, "invalid", get, "/jobs/"+mine+"/published/x?wait=-1s", nil)
	s.Refused(422, "invalid", get, "/jobs/"+mine+"/streams/x?limit=0", nil)
	s.Refused(422, "invalid", post, "/callbacks/nonsense/complete", nil)
	s.Refused(422, "invalid", post, "/callbacks/nonsense/fail", `{"message":""}`)
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.JobsRead}})
	s.Refused(403, "forbidden", post, "/jobs/"+mine+"/signals", `{"name":"approved"}`)
	s.Refused(403, "forbidden", post, "/jobs/"+mine+"/updates/x", nil)
	s.As(access.Principal{Name: "writer", Scopes: []access.Scope{access.JobsWrite}})
	s.Refused(403, "forbidden", get, "/jobs/"+mine+"/published/x", nil)
	s.Refused(403, "forbidden", get, "/jobs/"+mine+"/streams/x", nil)
}

// TestPublic: only callbacks need no credential.
func TestPublic(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	start(s)
	hfc := token(s, s.Enqueue(map[string]any{"kind": "order"}))
	letter := "A"
	if strings.HasSuffix(hfc, letter) {
		letter = "Q"
	}
	other := hfc[:len(hfc)-1] + letter // one that is well formed
	handler, err := server.Handler(s.Client, server.Options{Authenticate: access.Token("ops", "right")})
	if err != nil {
		t.Fatal(err)
	}
	status := func(method, path string) int {
		body := `{"message":"no"}`
		if method == get {
			body = ""
		}
		r := httptest.NewRequest(method, "http://localhost/api/v1"+path, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w.Code
	}
	for path, want := range map[string]int{
		"/callbacks/" + other + "/fail": 404, "/callbacks/x/fail": 422, "/jobs/" + unknown + "/signals": 401,
		"/callbacks/" + other: 404, "/callbacks/x": 422, "/callbacks/" + hfc + "/": 401, "/callbacks/" + hfc + "/fail/": 401, "/callbacks/../jobs": 401,
	} {
		if got := status(post, path); got != want {
			t.Errorf("%s is answered %d, not %d", path, got, want)
		}
	}
	if got := status(get, "/callbacks/"+hfc+"/fail"); got != 401 {
		t.Errorf("a GET is answered %d", got)
	}
	if got := status(post, "/callbacks/"+hfc+"/fail"); got != 200 {
		t.Errorf("the token alone is answered %d", got)
	}
}

// TestTokensNeedTheirScope: who may not change jobs sees no token of a callback, by which anybody
// answers it, and still which answer belongs to which.
func TestTokensNeedTheirScope(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	start(s)
	id := s.Enqueue(map[string]any{"kind": "order"})
	hfc := token(s, id)
	s.OK(http.StatusOK, post, "/callbacks/"+hfc+"/heartbeat", nil)
	nameOf := func(path, kind string) string {
		a := s.OK(http.StatusOK, get, "/jobs/"+id+path, nil)
		for _, item := range a.Items() {
			if item["kind"] == kind {
				name, _ := item["name"].(string)
				return name
			}
		}
		t.Fatalf("%s has no %s: %s", path, kind, a.Text)
		return ""
	}
	s.As(access.Principal{Name: "writer", Scopes: []access.Scope{access.JobsRead, access.JobsWrite}})
	if name := nameOf("/journal", "callback"); name != hfc {
		t.Errorf("who may answer it sees %q", name)
	}
	s.As(access.Principal{Name: "viewer", Scopes: []access.Scope{access.JobsRead}})
	name := nameOf("/journal", "callback")
	if name == "" || strings.Contains(name, "hfc_") || nameOf("/messages", "heartbeat") != name {
		t.Errorf("a viewer sees %q in the journal, and %q in the messages", name, nameOf("/messages", "heartbeat"))
	}
	for _, path := range []string{"", "/journal", "/messages", "/why", "/published/token", "/logs"} {
		if a := s.OK(http.StatusOK, get, "/jobs/"+id+path, nil); strings.Contains(a.Text, hfc) {
			t.Errorf("a viewer sees the token in %s: %s", path, a.Text)
		}
	}
}

// TestStopping: calls that wait are answered when the server stops: what may be asked again with
// 202, and that there is no value yet is not told of a server that had no time to wait for it.
func TestStopping(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	id := s.Enqueue(map[string]any{"kind": "nobody"})
	stopping := make(chan struct{})
	stops := s.Again(stopping)
	answers := make(chan int, 3)
	for _, call := range [][2]string{
		{get, "/jobs/" + id + "/result?wait=1m"}, {post, "/jobs/" + id + "/updates/pay?wait=1m"}, {get, "/jobs/" + id + "/published/x?wait=1m"},
	} {
		go func() { answers <- stops.Do(call[0], call[1], nil).Status }()
	}
	time.Sleep(200 * time.Millisecond) //nolint:forbidigo // the calls are to wait by then
	if n := len(answers); n != 0 {
		t.Fatalf("%d calls do not wait", n)
	}
	close(stopping)
	got := map[int]int{}
	for range 3 {
		select {
		case status := <-answers:
			got[status]++
		case <-time.After(2 * time.Minute):
			t.Fatalf("on a server that stops calls wait; answered were %v", got)
		}
	}
	if got[202] != 2 || got[503] != 1 {
		t.Errorf("answered are %v", got)
	}
	// An update is sent all the same: who repeats it gets the answer to what was sent first.
	start(s)
	path := "/jobs/" + s.Enqueue(map[string]any{"kind": "order"}) + "/updates/add%20line?wait=1m"
	for i := range 20 {
		body := func(payload int) string { return fmt.Sprintf(`{"payload":%d,"dedup_key":"late-%d"}`, payload, i) }
		if a := stops.Do(post, path, body(41)); a.Status != 200 && a.Status != 202 {
			t.Errorf("an update to a server that stops: %s", a.Text)
		}
		if again := s.OK(200, post, path, body(1)); again.JSON["answer"] != 42.0 {
			t.Errorf("an update to a server that stops was not sent: %s", again.Text)
		}
	}
}
