//go:build soak

package blackbox

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
)

// entry is what the audit says of something that was done.
type entry struct {
	ID     string `json:"id"`
	Actor  string `json:"actor"`
	Action string `json:"action"`
	Target struct {
		Kind string `json:"kind"`
	} `json:"target"`
}

// recorder compares what the audit has after each request with what it had before.
type recorder struct {
	*server

	secret string // of the key that may read it
	actor  string
	seen   []string        // ids of entries
	met    map[string]bool // operations of which it was looked
}

// newRecorder begins behind what there is: what made the key.
func newRecorder(s *server, secret, actor string) *recorder {
	s.Helper()
	r := &recorder{server: s, secret: secret, actor: actor, met: map[string]bool{}}
	for _, e := range r.audit() {
		r.seen = append(r.seen, e.ID)
	}
	return r
}

// audit reads the newest entries.
func (r *recorder) audit() (all []entry) {
	r.Helper()
	a := r.do(&request{method: http.MethodGet, path: "/api/v1/audit?limit=200", secret: r.secret})
	var page struct {
		Items []entry `json:"items"`
	}
	if err := json.Unmarshal([]byte(a.text), &page); a.status != http.StatusOK || err != nil {
		r.Fatalf("the audit: %d %v: %s", a.status, err, cut(a.text))
	}
	for _, secret := range []string{r.secret, "whsec_", "hf_"} {
		if strings.Contains(a.text, secret) {
			r.Errorf("the audit has a secret: %s", cut(a.text))
		}
	}
	return page.Items
}

// look compares what an operation has recorded with what it is to record, once it was answered with
// a status. What an operation on many jobs does comes when its node has done it.
func (r *recorder) look(op *operation, status int) {
	r.Helper()
	var is []string
	for _, e := range r.audit() {
		if slices.Contains(r.seen, e.ID) {
			continue
		}
		r.seen = append(r.seen, e.ID)
		what := e.Action + " " + e.Target.Kind
		if op.ID == "worker-register" && e.Actor == "server" {
			continue // it makes the key that signs leases
		}
		if what != "cancel job" || op.ID == "job-cancel" {
			is = append(is, what)
		}
		if e.Actor != r.actor {
			r.Errorf("%s is recorded as done by %q, and not by %q", op.ID, e.Actor, r.actor)
		}
	}
	var want []string
	if what := records[op.ID]; what != "" && status < 300 {
		want, r.met[op.ID] = []string{what}, true
	}
	if !slices.Equal(is, want) {
		r.Errorf("%s, answered with %d, has recorded %q, and not %q", op.ID, status, is, want)
	}
	if records[op.ID] != "" == (op.method == http.MethodGet || unrecorded[op.ID] != "") {
		r.Errorf("%s is to be in one of the tables of what is recorded", op.ID)
	}
}

// end reports what is to be recorded and has not been looked at.
func (r *recorder) end() {
	r.Helper()
	for id := range records {
		if !r.met[id] && !slices.Contains(refused, id) {
			r.Errorf("no example of %s changes anything, so that what it records was not looked at", id)
		}
	}
}

// records are the operations that change something, and what they record where the examples have
// something to change.
var records = map[string]string{
	"namespace-create": "create namespace", "namespace-delete": "delete namespace", "key-create": "create key", "key-revoke": "revoke key",
	"attribute-declare": "create attribute", "attribute-delete": "delete attribute", "event-off": "off feed",
	"job-edit": "edit job", "job-tag": "edit job", "job-pause": "pause job", "job-resume": "resume job", "job-cancel": "cancel job",
	"job-fork": "fork job", "job-retry": "retry job", "job-terminate": "terminate job", "job-delete": "delete job",
	"job-continue-as-new": "continue job", "job-skip": "skip job", "job-complete": "complete job", "job-fail": "fail job",
	"node-quiet": "quiet node", "node-resume": "resume node", "node-drain": "drain node",
	"queue-set": "set queue", "queue-pause": "pause queue", "queue-resume": "resume queue", "queue-rest": "rest queue",
	"queue-delete": "delete queue", "kind-forget": "forget kind",
	"schedule-create": "create schedule", "schedule-update": "update schedule", "schedule-pause": "pause schedule",
	"schedule-resume": "resume schedule", "schedule-delete": "delete schedule", "schedule-trigger": "trigger schedule",
	"limit-set": "create limit", "limit-delete": "delete limit", "limit-drain": "drain limit", "limit-resume": "resume limit",
	"limit-reset": "update limit", "retention-set": "create retention", "retention-delete": "delete retention",
	"endpoint-create": "create endpoint", "endpoint-update": "update endpoint", "endpoint-rotate": "update endpoint",
	"endpoint-delete": "delete endpoint", "webhook-create": "create webhook", "webhook-update": "update webhook",
	"webhook-rotate": "update webhook", "webhook-delete": "delete webhook",
}

// unrecorded are the operations that change something and record nothing here, and why.
var unrecorded = map[string]string{
	"job-enqueue": enqueues, "job-enqueue-batch": enqueues, "batch-create": enqueues, "batch-close": enqueues, "webhook-test": enqueues,
	"webhook-redeliver": enqueues,
	"signal-send":       sends, "signal-send-by-key": sends, "update-call": sends, "callback-answer": sends, "callback-complete": sends,
	"callback-fail": sends, "callback-heartbeat": sends,
	"worker-register": works, "worker-poll": works, "worker-beat": works, "worker-leave": works, "run-progress": works, "run-snooze": works,
	"run-release": works, "run-fail": works, "run-complete": works, "run-cancel": works, "run-end-batch": works, "run-append": works,
	"run-park": works, "run-hold": works,
	"batch-cancel": each, "queue-drain": each, "dead-redrive": each, "dead-move": each, "dead-purge": each, "operation-start": each,
	"operation-cancel": each,
	"event-on":         example, "schedule-backfill": example, "schedule-preview": example,
}
