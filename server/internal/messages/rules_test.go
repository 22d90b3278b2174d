package messages_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/rules"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// startPayments starts a node that runs payments: each waits for what its callback is answered
// with, by the rules of its args.
func startPayments(s *apitest.Server) {
	s.Helper()
	pay := holdfast.NewKind[*rules.Callback, json.RawMessage]("pay")
	err := pay.Handle(s.Client, func(run *holdfast.Run, by *rules.Callback) (answer json.RawMessage, err error) {
		open := func() (*holdfast.Callback, error) { return run.Callback("payment") }
		if by != nil {
			open = func() (*holdfast.Callback, error) { return rules.Open(run, "payment", *by) }
		}
		c, err := open()
		if err != nil {
			return nil, err
		}
		if err := run.Publish("token", c.Token); err != nil {
			return nil, err
		}
		return answer, c.Wait(run, &answer)
	}, holdfast.MaxAttempts(1))
	if err == nil {
		err = s.Client.Start(s.Context())
	}
	if err != nil {
		s.Fatal(err)
	}
}

// TestRules: what an outside system posts is decided by the rules of the callback, whatever it is.
func TestRules(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		startPayments(s)
		id := s.Enqueue(map[string]any{"kind": "pay", "args": rules.Callback{
			Filter: `payload.type.startsWith("charge.")`, OnComplete: `payload.type == "charge.paid"`, Transform: `payload.id`,
		}})
		path := "/callbacks/" + token(s, id)
		is := func(want, sent string, header ...string) {
			s.Helper()
			a := s.OK(200, post, path, sent, header...)
			if a.JSON["answer"] != want || "/callbacks/"+a.JSON["token"].(string) != path {
				s.Errorf("%s is answered %s, not %s", sent, a.Text, want)
			}
		}
		is("ignored", `{"type":"customer.created"}`)
		is("ignored", `{"type":"charge.pending"}`)
		for _, sent := range []string{`null`, `7`, `"charge."`, `[]`, `{}`, `{"type":null}`, `{"type":"charge.paid"}`} {
			s.Refused(422, "callback_undecided", post, path, sent)
		}
		for _, sent := range []string{``, `{`, `1 2`, "\"\xff\""} {
			s.Refused(400, "malformed", post, path, sent)
		}
		s.Refused(413, "too_large", post, path, `"`+strings.Repeat("x", rules.MaxSent)+`"`)
		s.Refused(415, "unsupported_media_type", post, path, `{}`, "Content-Type", "text/plain")
		s.Refused(404, "not_found", post, path+"?namespace=other", `{"type":"charge.paid"}`)
		const paid = `{"type":"charge.paid","id":9223372036854775807}`
		is("completed", paid, "Idempotency-Key", "k1")
		is("completed", paid, "Idempotency-Key", "k1")
		s.Refused(422, "idempotency_key_reused", post, path, `{"type":"charge.paid","id":1}`, "Idempotency-Key", "k1")
		s.Refused(409, "conflict", post, path, paid)
		is("ignored", `{"type":"customer.created"}`)
		if end := s.OK(200, get, "/jobs/"+id+"/result?wait=30s", nil); !strings.Contains(end.Text, `"result":9223372036854775807`) {
			s.Errorf("the end: %s", end.Text)
		}

		id = s.Enqueue(map[string]any{"kind": "pay", "args": rules.Callback{OnFail: `payload == "no"`}})
		path = "/callbacks/" + token(s, id)
		is("failed", `"no"`)
		if end := s.OK(200, get, "/jobs/"+id+"/result?wait=30s", nil); !strings.Contains(end.Text, "what was sent fits its rule on_fail") {
			s.Errorf("the end: %s", end.Text)
		}

		id = s.Enqueue(map[string]any{"kind": "pay"})
		path = "/callbacks/" + token(s, id)
		is("completed", `{"n":1}`)
		if end := s.OK(200, get, "/jobs/"+id+"/result?wait=30s", nil); !strings.Contains(end.Text, `"result":{"n":1}`) {
			s.Errorf("the end of one without rules: %s", end.Text)
		}
	})
}
