package views

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/endpoint"
	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/store"
)

// Target is where something is sent, without the values of headers, which may be secret.
type Target struct {
	URL     string   `json:"url"`
	Headers []string `json:"headers"`
	Timeout Span     `json:"timeout"`
}

func newTarget(t *endpoint.Target) Target {
	return Target{URL: t.URL, Headers: append([]string{}, slices.Sorted(maps.Keys(t.Headers))...), Timeout: Span(t.Timeout)}
}

// Written is when something was made and changed, and by whom.
type Written struct {
	CreatedAt Timestamp `json:"created_at"`
	CreatedBy Text      `json:"created_by"`
	UpdatedAt Timestamp `json:"updated_at"`
	UpdatedBy Text      `json:"updated_by"`
}

func newWritten(e *store.Endpoint) Written {
	return Written{
		CreatedAt: Timestamp(e.CreatedAt), CreatedBy: Text(e.CreatedBy), UpdatedAt: Timestamp(e.UpdatedAt), UpdatedBy: Text(e.UpdatedBy),
	}
}

// Endpoint is what the jobs of a kind are sent to, without secrets.
type Endpoint struct {
	Kind string `json:"kind"`
	Target

	Callback Span `json:"callback"`
	Written
}

// NewEndpoint returns the view of an endpoint.
func NewEndpoint(e *endpoint.Entry[endpoint.Push]) Endpoint {
	return Endpoint{Kind: e.Name, Target: newTarget(&e.Set.Target), Callback: Span(e.Set.Callback), Written: newWritten(&e.Endpoint)}
}

// Identity is that of the endpoint.
func (v Endpoint) Identity() (kind, id string) { return "endpoint", v.Kind }

// CreatedEndpoint is an endpoint with a new secret.
type CreatedEndpoint struct {
	Endpoint

	Secret string `json:"secret"`
}

// Webhook is what is told of events, without secrets.
type Webhook struct {
	Name string `json:"name"`
	ID   string `json:"id"`
	Target

	Events   []endpoint.Event `json:"events"` // none: those of jobs that have finished
	Queues   []string         `json:"queues"`
	Kinds    []string         `json:"kinds"`
	Filter   Text             `json:"filter"`   // an expression over the event
	Disabled Text             `json:"disabled"` // why it is
	Written
}

// NewWebhook returns the view of a webhook.
func NewWebhook(e *endpoint.Entry[endpoint.Webhook]) Webhook {
	f := &e.Set.Filter
	return Webhook{
		Name: e.Name, ID: e.Set.ID, Target: newTarget(&e.Set.Target), Events: append([]endpoint.Event{}, f.Events...),
		Queues: append([]string{}, f.Queues...), Kinds: append([]string{}, f.Kinds...), Filter: Text(f.Where), Disabled: Text(e.Set.Disabled),
		Written: newWritten(&e.Endpoint),
	}
}

// Identity is that of the webhook.
func (v Webhook) Identity() (kind, id string) { return "webhook", v.Name }

// CreatedWebhook is a webhook with a new secret.
type CreatedWebhook struct {
	Webhook

	Secret string `json:"secret"`
}

// Delivery is a job that tells a webhook of an event.
type Delivery struct {
	ID         string         `json:"id"` // of the job
	Event      string         `json:"event"`
	Type       endpoint.Event `json:"type"`
	State      string         `json:"state"`
	Attempt    int            `json:"attempt"`
	CreatedAt  Timestamp      `json:"created_at"`
	FinishedAt Timestamp      `json:"finished_at"`
	NextAt     Timestamp      `json:"next_at"` // of the next attempt
	Error      Text           `json:"error"`
}

// NewDelivery returns the view of a delivery.
func NewDelivery(r *store.Record) Delivery {
	var d endpoint.Delivery
	_ = json.Unmarshal(r.Args, &d) // what a newer version has written differently is left out
	v := Delivery{
		ID: r.ID.String(), Event: d.Event, Type: d.Type, State: r.State.String(), Attempt: r.Attempt, CreatedAt: Timestamp(r.CreatedAt),
		FinishedAt: Timestamp(r.FinishedAt), Error: Text(r.Error),
	}
	if r.State == store.Retryable {
		v.NextAt = Timestamp(r.RunAt)
	}
	return v
}

// Identity is that of the job.
func (v Delivery) Identity() (kind, id string) { return aJob, v.ID }

// SentDelivery is a delivery that was enqueued.
type SentDelivery struct {
	ID string `json:"id"` // of the job
}

// Identity is that of the job.
func (v SentDelivery) Identity() (kind, id string) { return aJob, v.ID }

// The headers of tables.
var (
	EndpointHeader = []string{"KIND", "URL", "TIMEOUT", "CHANGED"}
	WebhookHeader  = []string{"NAME", "URL", "EVENTS", "QUEUES", "KINDS", "STATE"}
	DeliveryHeader = []string{"ID", "TYPE", "STATE", "ATTEMPT", "CREATED", "ERROR"}
)

// siteOf is a URL without its path and query, which may be long.
func siteOf(t *endpoint.Target) string { return output.Clip(cmp.Or(t.Site(), t.URL), output.MaxName) }

// EndpointRow formats an endpoint for a table.
func EndpointRow(now time.Time, e *endpoint.Entry[endpoint.Push]) []string {
	return []string{output.Clip(e.Name, output.MaxName), siteOf(&e.Set.Target), e.Set.Timeout.String(), output.Ago(now, e.UpdatedAt)}
}

// WebhookRow formats a webhook for a table.
func WebhookRow(e *endpoint.Entry[endpoint.Webhook]) []string {
	f, state := &e.Set.Filter, "enabled"
	if e.Set.Disabled != "" {
		state = "disabled: " + output.Clip(e.Set.Disabled, output.MaxName)
	}
	events := "finished"
	if len(f.Events) > 0 {
		var states []string
		for _, one := range f.Events {
			states = append(states, strings.TrimPrefix(string(one), "job."))
		}
		events = strings.Join(states, ",")
	}
	return []string{output.Clip(e.Name, output.MaxName), siteOf(&e.Set.Target), events, listed(f.Queues), listed(f.Kinds), state}
}

func listed(names []string) string {
	if len(names) == 0 {
		return "all"
	}
	return output.Clip(strings.Join(names, ","), output.MaxName)
}

// DeliveryRow formats a delivery for a table.
func DeliveryRow(now time.Time, r *store.Record) []string {
	v := NewDelivery(r)
	return []string{v.ID, string(v.Type), v.State, JobRow(now, r)[4], output.Ago(now, r.CreatedAt), output.Clip(r.Error, output.MaxName)}
}
