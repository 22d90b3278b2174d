package workers_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

const order = `{"name":"w","kinds":["order"],"slots":5,"journal":1}`

// remembering is a run with a journal, of a test.
type remembering struct {
	*worker

	job  job
	last int
}

// takes polls for a job, and reads its journal at another server.
func (w *worker) takes() *remembering {
	w.Helper()
	r := &remembering{worker: w, job: w.one()}
	r.last = len(r.journal(r.Server)["entries"].([]any))
	return r
}

func (r *remembering) journal(at *apitest.Server) map[string]any {
	r.Helper()
	return at.OK(200, get, run(r.job, "journal"), nil).JSON
}

// appends entries, and returns what the server has made of them.
func (r *remembering) appends(at *apitest.Server, repeat bool, entries ...job) []job {
	r.Helper()
	a := at.OK(200, post, run(r.job, "journal"), job{"after": r.last, "entries": entries, "repeat": repeat})
	r.last = integer(a.JSON["last"])
	var made []job
	for _, one := range a.JSON["entries"].([]any) {
		made = append(made, one.(job))
	}
	return made
}

// remembered is what a journal has, in short.
func remembered(s *apitest.Server, id string) string {
	s.Helper()
	var all []string
	a := s.OK(200, get, "/jobs/"+id+"/journal?limit=200", nil)
	for _, e := range a.Items() {
		all = append(all, fmt.Sprintf("%s %s %s", text(e, "kind"), text(e, "path"), text(e, "name")))
	}
	return strings.Join(all, ", ")
}

func wantJournal(s *apitest.Server, id, want string) {
	s.Helper()
	if got := remembered(s, id); got != want {
		s.Errorf("the journal of %s has %s, not %s", id, got, want)
	}
}

// TestJournal: a run remembers a step, sleeps, waits for a signal and a child, publishes, and
// completes; each request is answered by the other server than the one before.
func TestJournal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w, helper := register(s, order), register(other, mail)
		id := s.Enqueue(job{"kind": "order"})
		r := w.takes()
		r.appends(other, false, job{"kind": "step", "path": "1", "name": "charge", "data": job{"id": 7}, "took": "3ms"})
		made := r.appends(s, false, job{"kind": "timer", "path": "2", "for": "200ms"})
		data, _ := made[0]["data"].(job)
		until, err := time.Parse(time.RFC3339, text(data, "until"))
		if err != nil || time.Until(until) > time.Minute {
			s.Errorf("the timer ends at %v, %v", until, err)
		}
		s.OK(200, post, run(r.job, "park"), job{"until": until, "waits_for": []string{"timer"}})
		wantState(s, id, "waiting")
		promoteUntil(s, id, "available")
		r = w.at(other).takes()
		if r.job["durable"] != true || r.last != 2 {
			s.Errorf("the job comes with %v entries: %v", r.last, r.job)
		}
		other.OK(200, post, run(r.job, "park"), `{"messages":["signal"],"waits_for":["signal approved"]}`)
		if a := s.OK(200, get, "/jobs/"+id, nil); !strings.Contains(a.Text, "signal approved") {
			s.Errorf("it does not tell what it waits for: %s", a.Text)
		}
		s.OK(200, post, "/jobs/"+id+"/signals", `{"name":"approved","payload":{"by":"ann"}}`)
		r = w.at(s).nextPoll(2).takes()
		message, _ := r.journal(other)["messages"].([]any)[0].(job)
		payload, _ := message["data"].(job)
		if payload["by"] != "ann" || text(message, "name") != "approved" || integer(message["seq"]) != 1 {
			s.Errorf("the message is %v", message)
		}
		r.appends(other, false, job{"kind": "received", "path": "3", "name": "approved", "message": 1},
			job{"kind": "published", "path": "4", "name": "state", "data": "packing"})
		made = r.appends(s, false, job{"kind": "child", "path": "5", "name": "mail", "job": job{"kind": "mail", "args": job{"to": "ann"}}})
		data, _ = made[0]["data"].(job)
		other.OK(200, post, run(r.job, "park"), job{"messages": []string{"child"}, "seen": 1})
		if value := s.OK(200, get, "/jobs/"+id+"/published/state", nil); value.JSON["value"] != "packing" {
			s.Errorf("published: %s", value.Text)
		}
		child := helper.one()
		if text(child, "id") != text(data, "id") || text(child, "parent") != id {
			s.Errorf("the child is %v", child)
		}
		s.OK(200, post, run(child, "complete"), `{"result":"sent"}`)
		r = w.at(other).nextPoll(3).takes()
		message, _ = r.journal(s)["messages"].([]any)[1].(job)
		if message["data"] != "sent" || text(message, "state") != "completed" || text(message, "from") != text(data, "id") {
			s.Errorf("the end of the child is %v", message)
		}
		s.OK(200, post, run(r.job, "complete"),
			job{"result": 1, "journal": job{"after": r.last, "entries": []job{{"kind": "step", "path": "6", "name": "last"}}}})
		wantState(s, id, "completed")
		wantJournal(s, id, "step 1 charge, timer 2 , received 3 approved, published 4 state, child 5 mail, step 6 last")
	})
}

// nextPoll is the worker, whose last poll had a number.
func (w *worker) nextPoll(seq int) *worker {
	w.seq = seq
	return w
}

// promoteUntil wakes what is due until a job is in a state.
func promoteUntil(s *apitest.Server, id, want string) {
	s.Helper()
	for range 500 {
		promote(s)
		if is, _ := state(s, id); is == want {
			return
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // no node of this test promotes
	}
	s.Fatalf("job %s does not become %s", id, want)
}

// TestAppendedTwice: an append whose answer was lost is recognised at any server: its child was
// enqueued once, and its signal sent once. Another append under the same numbers is not taken for
// it.
func TestAppendedTwice(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		to := s.Enqueue(job{"kind": "other"})
		id := s.Enqueue(job{"kind": "order"})
		r := w.takes()
		entries := []job{
			{"kind": "child", "path": "1", "name": "mail", "job": job{"kind": "mail"}},
			{"kind": "step", "path": "2", "name": "signal approved", "signal": job{"job": to, "name": "approved", "dedup_key": "k"}},
			{"kind": "timer", "path": "3", "for": "1h"},
			{"kind": "callback", "path": "4", "data": job{"name": "bank"}},
		}
		first := r.appends(s, false, entries...)
		for _, at := range []*apitest.Server{other, s, other} {
			r.last = 0
			again := r.appends(at, true, entries...)
			if fmt.Sprint(again) != fmt.Sprint(first) {
				s.Errorf("repeated, the answer is %v, not %v", again, first)
			}
		}
		if !strings.HasPrefix(text(first[3], "name"), "hfc_") {
			s.Errorf("the token of the callback is %v", first[3])
		}
		if jobs := items(s, "/jobs?kind=mail"); len(jobs) != 1 {
			s.Errorf("there are %d children", len(jobs))
		}
		if messages := items(s, "/jobs/"+to+"/messages"); len(messages) != 1 {
			s.Errorf("there are %d signals", len(messages))
		}
		path := run(r.job, "journal")
		s.Refused(409, "lease_lost", post, path, job{"after": 0, "entries": entries})
		s.Refused(409, "conflict", post, path, job{"after": 3, "repeat": true, "entries": []job{{"kind": "step", "path": "4", "name": "other"}}})
		// One that never arrived is stored when it is repeated, and one with an outcome happens
		// once.
		r.last = 4
		r.appends(other, true, job{"kind": "step", "path": "5", "name": "late"})
		end := job{"repeat": true, "journal": job{"after": 5, "entries": []job{
			{"kind": "child", "path": "6", "name": "mail", "on_close": "abandon", "job": job{"kind": "mail"}},
		}}}
		for _, at := range []*apitest.Server{s, other} {
			if a := at.OK(200, post, run(r.job, "complete"), end); a.JSON["state"] != "completed" {
				s.Errorf("%s", a.Text)
			}
		}
		if jobs := items(s, "/jobs?kind=mail"); len(jobs) != 2 {
			s.Errorf("there are %d children", len(jobs))
		}
		wantJournal(s, id, "child 1 mail, step 2 signal approved, timer 3 , callback 4 "+text(first[3], "name")+", step 5 late, child 6 mail")
	})
}

// TestRulesOfCallbacks: a callback of a worker has rules, which are checked when it is appended,
// kept in the journal, and decide of what is sent, at any server.
func TestRulesOfCallbacks(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		s.Enqueue(job{"kind": "order"})
		r := w.takes()
		callback := func(rules any) job {
			return job{"kind": "callback", "path": "1", "data": job{"name": "bank", "rules": rules}}
		}
		for field, rules := range map[string]job{
			"/on_complete": {"on_complete": "payload."}, "/filter": {"filter": "order.paid"}, "/default": {"default": "maybe"},
			"/transform": {"transform": "payload.matches('a')"}, "/on_fail": {"on_fail": "1"},
		} {
			at := s.Refused(422, "invalid", post, run(r.job, "journal"), job{"after": 0, "entries": []job{callback(rules)}})
			if at != "/entries/0/data/rules"+field {
				s.Errorf("%v are refused at %s", rules, at)
			}
		}
		for _, rules := range []any{"payload", job{"on_complete": "payload.paid", "onfail": "payload.refused"}} {
			s.Refused(422, "invalid", post, run(r.job, "journal"), job{"after": 0, "entries": []job{callback(rules)}})
		}
		made := r.appends(s, false, callback(job{"on_complete": "payload.paid", "transform": "payload.id"}))
		data, _ := made[0]["data"].(job)
		kept, _ := data["rules"].(job)
		if len(kept) != 2 || kept["on_complete"] != "payload.paid" || kept["transform"] != "payload.id" {
			s.Errorf("the journal has the rules %v", kept)
		}
		path := "/callbacks/" + text(made[0], "name")
		for sent, want := range map[string]string{`{"paid":false}`: "ignored", `{"paid":true,"id":7}`: "completed"} {
			if a := other.OK(200, post, path, sent); a.JSON["answer"] != want {
				s.Errorf("%s is answered %s", sent, a.Text)
			}
		}
		message, _ := r.journal(s)["messages"].([]any)[0].(job)
		if text(message, "kind") != "callback" || integer(message["data"]) != 7 {
			s.Errorf("the answer is %v", message)
		}
	})
}

// TestAppendOfALostRun: what a run appends that is not the job's any more is refused, and leaves
// nothing: no entry, no child and no signal.
func TestAppendOfALostRun(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		to := s.Enqueue(job{"kind": "other"})
		id := s.Enqueue(job{"kind": "order"})
		r := w.takes()
		r.appends(s, false, job{"kind": "step", "path": "1", "name": "a", "data": 1})
		s.OK(200, post, "/workers/"+w.token+"/leave", nil)
		next := register(other, order)
		second := next.takes()
		entries := []job{
			{"kind": "step", "path": "2", "name": "b", "data": 2, "signal": job{"job": to, "name": "x", "dedup_key": "k"}},
			{"kind": "child", "path": "3", "name": "mail", "job": job{"kind": "mail"}},
		}
		for _, at := range []*apitest.Server{s, other} {
			for _, repeat := range []bool{false, true} {
				at.Refused(409, "lease_lost", post, run(r.job, "journal"), job{"after": 1, "entries": entries, "repeat": repeat})
				at.Refused(409, "lease_lost", post, run(r.job, "complete"),
					job{"journal": job{"after": 1, "entries": entries}, "repeat": repeat})
				at.Refused(409, "lease_lost", post, run(r.job, "park"), job{"for": "1s", "repeat": repeat})
			}
			at.Refused(409, "lease_lost", get, run(r.job, "journal"), nil)
		}
		second.appends(s, false, job{"kind": "step", "path": "2", "name": "b", "data": 3})
		s.Refused(409, "lease_lost", post, run(r.job, "journal"), job{"after": 1, "entries": entries, "repeat": true})
		wantJournal(s, id, "step 1 a, step 2 b")
		if jobs := items(s, "/jobs?kind=mail"); len(jobs) != 0 {
			s.Errorf("there are %d children", len(jobs))
		}
		if messages := items(s, "/jobs/"+to+"/messages"); len(messages) != 0 {
			s.Errorf("there are %d signals", len(messages))
		}
	})
}

// TestWrongEntries: what cannot be an entry is refused, with where it is; nothing of the request is
// stored.
func TestWrongEntries(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		w := register(s, order)
		id := s.Enqueue(job{"kind": "order"})
		s.OK(200, post, "/jobs/"+id+"/signals", `{"name":"approved"}`)
		r := w.takes()
		good := job{"kind": "step", "path": "1", "name": "a"}
		for name, c := range map[string]struct {
			entry   job
			code    string
			pointer string
		}{
			"no kind":             {job{"kind": "stop", "path": "2"}, "invalid", "/entries/1/kind"},
			"of compensations":    {job{"kind": "closing", "path": "2"}, "invalid", "/entries/1/kind"},
			"no path":             {job{"kind": "step", "name": "a"}, "invalid", "/entries/1/path"},
			"a wrong path":        {job{"kind": "step", "name": "a", "path": "2."}, "invalid", "/entries/1/path"},
			"place 0":             {job{"kind": "step", "name": "a", "path": "0"}, "invalid", "/entries/1/path"},
			"a compensation":      {job{"kind": "step", "name": "a", "path": "~1.1"}, "invalid", "/entries/1/path"},
			"a path of none":      {job{"kind": "patched", "name": "a", "path": "2"}, "invalid", "/entries/1/path"},
			"no name":             {job{"kind": "step", "path": "2"}, "invalid", "/entries/1/name"},
			"a name of none":      {job{"kind": "value", "path": "2", "name": "a", "data": 1}, "invalid", "/entries/1/name"},
			"no until":            {job{"kind": "timer", "path": "2", "data": job{}}, "invalid", "/entries/1/data/until"},
			"until when":          {job{"kind": "timer", "path": "2", "data": job{"until": 5}}, "invalid", "/entries/1/data"},
			"until and for":       {job{"kind": "timer", "path": "2", "for": "1s", "data": job{"until": "2999-01-01T00:00:00Z"}}, "invalid", "/entries/1/data/until"},
			"for of a step":       {job{"kind": "step", "path": "2", "name": "a", "for": "1s"}, "invalid", "/entries/1/for"},
			"no message":          {job{"kind": "received", "path": "2", "name": "approved"}, "invalid", "/entries/1/message"},
			"a message of none":   {job{"kind": "received", "path": "2", "name": "approved", "message": 2}, "invalid", "/entries/1/message"},
			"another signal":      {job{"kind": "received", "path": "2", "name": "paid", "message": 1}, "invalid", "/entries/1/name"},
			"no failure":          {job{"kind": "step failed", "path": "2", "name": "a", "data": job{"attempts": 1}}, "invalid", "/entries/1/data/message"},
			"no tries":            {job{"kind": "step failed", "path": "2", "name": "a", "data": job{"message": "no"}}, "invalid", "/entries/1/data/attempts"},
			"a retry at no time":  {job{"kind": "step retry", "path": "2", "name": "a", "data": job{"failure": job{"message": "no", "attempts": 1}}}, "invalid", "/entries/1/data/until"},
			"a choice of none":    {job{"kind": "selected", "path": "2", "data": -1}, "invalid", "/entries/1/data"},
			"no job":              {job{"kind": "child", "path": "2", "name": "mail"}, "invalid", "/entries/1/job"},
			"another kind":        {job{"kind": "child", "path": "2", "name": "mail", "job": job{"kind": "fax"}}, "invalid", "/entries/1/name"},
			"a child with an id":  {job{"kind": "child", "path": "2", "name": "mail", "job": job{"kind": "mail", "id": holdfast.NewID().String()}}, "invalid", "/entries/1/job"},
			"a child with a key":  {job{"kind": "child", "path": "2", "name": "mail", "job": job{"kind": "mail", "key": "k"}}, "invalid", "/entries/1/job"},
			"data of a child":     {job{"kind": "child", "path": "2", "name": "mail", "data": 1, "job": job{"kind": "mail"}}, "invalid", "/entries/1/data"},
			"a job of a step":     {job{"kind": "step", "path": "2", "name": "a", "job": job{"kind": "mail"}}, "invalid", "/entries/1/job"},
			"nothing published":   {job{"kind": "published", "path": "2", "name": "a"}, "invalid", "/entries/1/data"},
			"too much":            {job{"kind": "step", "path": "2", "name": "a", "data": strings.Repeat("x", 1<<20)}, "invalid", "/entries/1/data"},
			"a signal to nothing": {job{"kind": "step", "path": "2", "name": "a", "signal": job{"job": holdfast.NewID().String(), "name": "x", "dedup_key": "k"}}, "not_found", "/entries/1/signal"},
		} {
			status := map[string]int{"invalid": 422, "not_found": 404}[c.code]
			pointer := s.Refused(status, c.code, post, run(r.job, "journal"), job{"after": 0, "entries": []job{good, c.entry}})
			if pointer != c.pointer && !(name == "no kind" || name == "of compensations") {
				s.Errorf("%s: it is about %s, not %s", name, pointer, c.pointer)
			}
		}
		s.Refused(422, "invalid", post, run(r.job, "journal"), job{"after": 0, "entries": []job{}})
		s.Refused(422, "invalid", post, run(r.job, "park"), job{"seen": 1})
		s.Refused(422, "invalid", post, run(r.job, "park"), job{"for": "1s", "until": "2999-01-01T00:00:00Z"})
		s.Refused(422, "invalid", post, run(r.job, "hold"), job{"reason": ""})
		for _, repeat := range []bool{false, true} {
			pointer := s.Refused(422, "invalid", post, run(r.job, "journal"), job{"after": 1, "entries": []job{good}, "repeat": repeat})
			if pointer != "/after" {
				s.Errorf("behind what is not there: %s", pointer)
			}
		}
		wantJournal(s, id, "")
		r.appends(s, false, good)

		plain := register(s, mail)
		s.Enqueue(job{"kind": "mail"})
		j := plain.one()
		s.Refused(422, "invalid", post, run(j, "journal"), job{"after": 0, "entries": []job{good}})
		s.Refused(422, "invalid", post, run(j, "complete"), job{"journal": job{"after": 0, "entries": []job{good}}})
		s.Refused(422, "invalid", post, "/workers", strings.Replace(order, `"journal":1`, `"journal":2`, 1))
	})
}

// TestExecChildren: who may not enqueue commands may not as children either.
func TestExecChildren(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	w := register(s, order)
	s.Enqueue(job{"kind": "order"})
	r := w.takes()
	who := access.Principal{Name: "w", Scopes: []access.Scope{access.Workers}}
	s.As(who)
	s.Refused(403, "forbidden", post, run(r.job, "journal"),
		job{"after": 0, "entries": []job{{"kind": "child", "path": "1", "name": "exec", "job": job{"kind": "exec"}}}})
	r.appends(s, false, job{"kind": "child", "path": "1", "name": "mail", "job": job{"kind": "mail"}})
}

// TestLongJournal: a journal and an inbox that are long come in pages, and one that is full takes
// no more, at any server.
func TestLongJournal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		id := s.Enqueue(job{"kind": "order"})
		r := w.takes()
		large := strings.Repeat("x", 400<<10)
		for i := range 12 {
			entry := job{"kind": "step", "path": strconv.Itoa(i + 1), "name": "s", "data": fmt.Sprint(i, large)}
			r.appends([]*apitest.Server{s, other}[i%2], false, entry)
			s.OK(200, post, "/jobs/"+id+"/signals", job{"name": "n", "payload": fmt.Sprint(i, large)})
		}
		after, seen, pages := 0, 0, 0
		for more := true; more; pages++ {
			page := other.OK(200, get, run(r.job, fmt.Sprintf("journal?after=%d&seen=%d", after, seen)), nil)
			if len(page.Text) > 4<<20 {
				s.Errorf("a page has %d bytes", len(page.Text))
			}
			for _, one := range page.JSON["entries"].([]any) {
				if e := one.(job); integer(e["seq"]) != after+1 || !strings.HasPrefix(text(e, "data"), fmt.Sprint(after, "x")) {
					s.Errorf("entry %v follows %d", e["seq"], after)
				}
				after++
			}
			for _, one := range page.JSON["messages"].([]any) {
				if m := one.(job); integer(m["seq"]) != seen+1 || !strings.HasPrefix(text(m, "data"), fmt.Sprint(seen, "x")) {
					s.Errorf("message %v follows %d", m["seq"], seen)
				}
				seen++
			}
			more = page.JSON["more"] == true
		}
		if after != 12 || seen != 12 || pages < 3 {
			s.Errorf("%d entries and %d messages in %d pages", after, seen, pages)
		}
	})
}

// TestFullJournal: see TestLongJournal.
func TestFullJournal(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		other := apitest.On(s.T, s.Source, holdfast.WithMaxJournal(5, 1<<20))
		w := register(s, order)
		s.Enqueue(job{"kind": "order"})
		r := w.takes()
		for i := range 5 {
			r.appends([]*apitest.Server{s, other}[i%2], false, job{"kind": "step", "path": strconv.Itoa(i + 1), "name": "s"})
		}
		last := job{"after": r.last, "entries": []job{{"kind": "step", "path": "6", "name": "s"}}}
		s.Refused(409, "journal_full", post, run(r.job, "journal"), last)
		other.Refused(409, "journal_full", post, run(r.job, "journal"), last)
		last["repeat"] = true
		s.Refused(409, "journal_full", post, run(r.job, "journal"), last)
		other.OK(200, post, run(r.job, "fail"), `{"error":"it is full","permanent":true}`)
	}, holdfast.WithMaxJournal(5, 1<<20))
}

// TestARepeatedAppendSendsNothing: what was stored is answered so, though the job that it has sent
// a signal to is gone by now.
func TestARepeatedAppendSendsNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		to := s.Enqueue(job{"kind": "mail"})
		s.Enqueue(job{"kind": "order"})
		r := w.takes()
		body := job{"after": 0, "entries": []job{{
			"kind": "step", "path": "1", "name": "signal paid", "signal": job{"job": to, "name": "paid", "dedup_key": "k"},
		}}}
		s.OK(200, post, run(r.job, "journal"), body)
		s.OK(200, post, "/jobs/"+to+"/cancel", nil)
		s.OK(204, "DELETE", "/jobs/"+to, nil)
		body["repeat"] = true
		other.OK(200, post, run(r.job, "journal"), body)
	})
}

// TestCancelledWhileParked: a cancel wakes a run that waits, which is told of it, and ends it.
func TestCancelledWhileParked(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		id := s.Enqueue(job{"kind": "order"})
		r := w.takes()
		r.appends(s, false, job{"kind": "child", "path": "1", "name": "mail", "job": job{"kind": "mail"}})
		s.OK(200, post, run(r.job, "park"), `{"messages":["child"]}`)
		other.OK(200, post, "/jobs/"+id+"/cancel", `{"reason":"no stock"}`)
		r = w.takes()
		if r.job["cancel_requested"] != true || text(r.job, "cancel_reason") != "no stock" {
			s.Errorf("the run is told %v", r.job)
		}
		// What it does then is its own: it may be tried again, and is told again.
		if a := other.OK(200, post, run(r.job, "fail"), `{"error":"too early","retry_after":"1ms"}`); a.JSON["state"] != "retryable" {
			s.Errorf("%s", a.Text)
		}
		promoteUntil(s, id, "available")
		r = w.takes()
		if r.job["cancel_requested"] != true {
			s.Errorf("the next run is told %v", r.job)
		}
		s.OK(200, post, run(r.job, "cancel"), `{"reason":"no stock"}`)
		wantState(s, id, "cancelled")
		closeChildren(s)
		for _, child := range items(s, "/jobs?kind=mail") {
			wantState(s, text(child, "id"), "cancelled")
		}
	})
}

func closeChildren(s *apitest.Server) {
	s.Helper()
	st, err := s.Source.Open(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	defer st.Close()
	if _, err := st.CloseChildren(s.Context(), 100); err != nil {
		s.Fatal(err)
	}
}

// TestHeld: a run whose code does not fit its journal waits for people.
func TestHeld(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		id := s.Enqueue(job{"kind": "order"})
		r := w.takes()
		r.appends(s, false, job{"kind": "step", "path": "1", "name": "a"})
		body := job{"reason": `the code asks for step "b" at place 1, where the journal (entry 1) has step "a"`}
		if a := other.OK(200, post, run(r.job, "hold"), body); a.JSON["state"] != "waiting" {
			s.Errorf("%s", a.Text)
		}
		if a := s.OK(200, get, "/jobs/"+id, nil); !strings.Contains(a.Text, "asks for step") || !strings.Contains(a.Text, "held") {
			s.Errorf("it does not say why it is held: %s", a.Text)
		}
		s.OK(200, post, "/jobs/"+id+"/resume", `{}`)
		r = w.takes()
		if r.last != 1 {
			s.Errorf("it goes on with %d entries", r.last)
		}
		s.OK(200, post, "/runs", job{"outcomes": []job{{
			"lease": r.job["lease"], "do": "complete", "journal": job{"after": 1, "entries": []job{{"kind": "step", "path": "2", "name": "c"}}},
		}}})
		wantState(s, id, "completed")
		wantJournal(s, id, "step 1 a, step 2 c")
	})
}

// TestWithoutAJournal: a worker that keeps journals runs jobs that have none as others do.
func TestWithoutAJournal(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, other *apitest.Server) {
		w := register(s, order)
		id := s.Enqueue(job{"kind": "order", "max_attempts": 2, "backoff": job{"base": "1ms", "cap": "1ms"}})
		j := w.one()
		if a := other.OK(200, post, run(j, "fail"), `{"error":"boom"}`); a.JSON["state"] != "retryable" {
			s.Errorf("%s", a.Text)
		}
		promoteUntil(s, id, "available")
		j = w.one()
		if j["durable"] != false || j["attempt"] != 2.0 {
			s.Errorf("the second attempt is %v", j)
		}
		if a := other.OK(200, post, run(j, "fail"), `{"error":"boom"}`); a.JSON["state"] != "failed" {
			s.Errorf("%s", a.Text)
		}
	})
}

// items are those of a list.
func items(s *apitest.Server, path string) []map[string]any {
	s.Helper()
	a := s.OK(200, get, path, nil)
	return a.Items()
}

// integer is a number as JSON has it.
func integer(v any) int {
	n, _ := v.(float64)
	return int(n)
}
