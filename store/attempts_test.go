package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestPolicyOf: who is heard about how a job is attempted: the job, its queue, the handler, the
// kind, and else there are defaults. All that may be said or not is tried, for each setting.
func TestPolicyOf(t *testing.T) {
	t.Parallel()
	values := map[store.SaidBy]store.AttemptSettings{}
	for i, who := range []store.SaidBy{store.ByJob, store.ByQueue, store.ByHandler, store.ByKind} {
		n := time.Duration(i + 1)
		values[who] = store.AttemptSettings{MaxAttempts: i + 1, Backoff: store.Backoff{Base: n, Cap: n}, Timeout: n, Heartbeat: n}
	}
	values[store.ByDefault] = store.AttemptSettings{MaxAttempts: store.DefaultMaxAttempts, Backoff: store.DefaultBackoff}
	all := store.SettingMaxAttempts | store.SettingBackoff | store.SettingTimeout | store.SettingHeartbeat
	for _, c := range []struct {
		said string // by whom
		want store.SaidBy
	}{
		{"", store.ByDefault},
		{"job", store.ByJob},
		{"queue", store.ByQueue},
		{"handler", store.ByHandler},
		{"kind", store.ByKind},
		{"job queue", store.ByJob},
		{"job handler", store.ByJob},
		{"job queue handler", store.ByJob},
		{"queue handler", store.ByQueue},
		{"queue kind", store.ByQueue},
		{"queue handler kind", store.ByQueue},
		{"handler kind", store.ByHandler},
	} {
		var job store.Job
		var policy store.Policy
		own := func(a store.AttemptSettings) {
			job.MaxAttempts, job.Options.Backoff, job.Options.Timeout, job.Options.Heartbeat = a.MaxAttempts, a.Backoff, a.Timeout, a.Heartbeat
		}
		for who := range strings.FieldsSeq(c.said) {
			switch by := store.SaidBy(who); by {
			case store.ByJob:
				own(values[by])
			case store.ByKind:
				own(values[by])
				job.Options.OfKind = all
			case store.ByQueue:
				policy = policy.In(values[by])
			default:
				h := values[by]
				policy.MaxAttempts, policy.Backoff, policy.Timeout, policy.Heartbeat = h.MaxAttempts, h.Backoff, h.Timeout, h.Heartbeat
			}
		}
		got, from := policy.Of(&job)
		if want := (store.Authors{MaxAttempts: c.want, Backoff: c.want, Timeout: c.want, Heartbeat: c.want}); from != want {
			t.Errorf("%q: said by %+v, want %+v", c.said, from, want)
		}
		if got != values[c.want] {
			t.Errorf("%q: %+v, want %+v", c.said, got, values[c.want])
		}
		if n := policy.Attempts(&job); n != values[c.want].MaxAttempts {
			t.Errorf("%q: %d attempts", c.said, n)
		}
	}
}

// TestPolicyEachByItself: what somebody says of one setting says nothing of the others.
func TestPolicyEachByItself(t *testing.T) {
	t.Parallel()
	job := store.Job{MaxAttempts: 3, Options: store.Options{
		Timeout: time.Hour, Backoff: store.Backoff{Base: 1, Cap: 1}, OfKind: store.SettingTimeout,
	}}
	policy := store.Policy{Delays: []time.Duration{time.Minute, time.Hour}, Timeout: time.Minute}
	queue := store.AttemptSettings{MaxAttempts: 9, Heartbeat: time.Second}
	got, from := policy.In(queue).Of(&job)
	want := store.AttemptSettings{MaxAttempts: 3, Backoff: job.Options.Backoff, Timeout: time.Minute, Heartbeat: time.Second}
	if got != want || from != (store.Authors{store.ByJob, store.ByJob, store.ByHandler, store.ByQueue}) {
		t.Errorf("%+v by %+v, want %+v", got, from, want)
	}
	job.Options.OfKind = store.SettingBackoff
	if d := policy.Delay(&job, 2); d != time.Hour {
		t.Errorf("the handler's delay is %v", d)
	}
	if d := policy.In(store.AttemptSettings{Backoff: store.Backoff{Base: 5, Cap: 5}}).Delay(&job, 2); d != 5 {
		t.Errorf("the queue's delay is %v", d)
	}
}

// TestSetQueueDocument: what stores keep is read back; of a later form what is known.
func TestSetQueueDocument(t *testing.T) {
	t.Parallel()
	q := store.QueueAttempts{
		AttemptSettings: store.AttemptSettings{MaxAttempts: 3, Timeout: time.Second}, SetAt: time.UnixMicro(17).UTC(), SetBy: "ada",
	}
	text := q.Encode()
	if want := `{"v":1,"max_attempts":3,"timeout":1000000000,"set_at":17,"set_by":"ada"}`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	for text, want := range map[string]store.QueueAttempts{
		text: q, "": {}, `{"v":1}`: {},
		`{"v":2,"max_attempts":3,"timeout":1000000000,"set_at":17,"set_by":"ada","more":{}}`: q,
	} {
		if got, err := store.DecodeQueueAttempts(text); got != want || err != nil {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	if _, err := store.DecodeQueueAttempts("{"); err == nil {
		t.Error("it has read what is no document")
	}
	if text := (store.QueueAttempts{SetBy: "ada"}).Encode(); text != "" {
		t.Errorf("nothing is set, and encoded as %s", text)
	}
}

func TestSettingNamed(t *testing.T) {
	t.Parallel()
	if s, err := store.SettingNamed("timeout"); s != store.SettingTimeout || err != nil {
		t.Errorf("%v, %v", s, err)
	}
	_, err := store.SettingNamed("retries")
	if !errors.Is(err, store.ErrInvalid) || !strings.Contains(err.Error(), "max-attempts, backoff, timeout, heartbeat-timeout") {
		t.Errorf("%v", err)
	}
	if text := (store.SettingBackoff | store.SettingHeartbeat).String(); text != "backoff, heartbeat-timeout" {
		t.Errorf("%s", text)
	}
}
