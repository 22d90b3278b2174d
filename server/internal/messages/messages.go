// Package messages has the operations of the API that speak with durable jobs: signals, requests,
// callbacks, and what jobs publish.
//
// # Imports
//
// Of ours, the root package, rules, store, internal/cli/views, and server/internal/api with what
// that stands on.
package messages

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

const (
	maxWait = time.Minute
	maxBody = 4 << 20 // of what has a payload
)

// Register registers the operations.
func Register(a *api.API) {
	signal := api.Op{
		ID: "signal-send", Method: http.MethodPost, Path: "/jobs/{id}/signals", Tag: "messages", Scope: access.JobsWrite, MaxBody: maxBody,
		Summary: "Send a signal to a job",
		About: `It is stored when this answers. A job that does not wait for it yet receives it when it does. With a dedup_key the request is
safe to repeat: a job receives the first message with a key. A finished job is a conflict.`,
	}
	api.Register(a, signal, sendSignal)
	signal.ID, signal.Path, signal.Summary = "signal-send-by-key", "/kinds/{kind}/keys/{key}/signals", "Send a signal to the job that holds a business key"
	api.Register(a, signal, sendByKey)
	api.RegisterFull(a, api.Op{
		ID: "update-call", Method: http.MethodPost, Path: "/jobs/{id}/updates/{name}", Tag: "messages", Scope: access.JobsWrite, MaxBody: maxBody,
		Also: http.StatusAccepted, Timeout: maxWait + api.CallTimeout, Summary: "Send a request to a job, and wait for the answer",
		About: `200 with the answer; or with what the job said if it refused the request, or failed in it. 202 if it has not answered within
wait, with Retry-After: the request stays, and the same one with the same dedup_key waits for its answer.`,
	}, callUpdate)
	get := api.Op{
		ID: "job-published", Method: http.MethodGet, Path: "/jobs/{id}/published/{key}", Tag: "messages", Scope: access.JobsRead,
		Timeout: maxWait + api.CallTimeout, Summary: "Get the last value that a job has published",
		About: "404 if there is none behind after, and none comes within wait.",
	}
	api.Register(a, get, published)
	get.ID, get.Path, get.Summary = "job-stream", "/jobs/{id}/streams/{name}", "List the items of a stream of a job"
	get.About = "Oldest first. next_cursor is the offset to go on after; null if there are no more now."
	api.Register(a, get, stream)
	RegisterCallbacks(a)
}

// MessageSignal is a signal to send.
type MessageSignal struct {
	Name     string      `json:"name" minLength:"1" example:"approved"`
	Payload  api.Payload `json:"payload,omitempty" doc:"JSON of your own"`
	DedupKey string      `json:"dedup_key,omitempty" doc:"Only the first message with it arrives"`
}

func (m *MessageSignal) options() (opts []holdfast.SendOption) {
	if m.DedupKey != "" {
		opts = append(opts, holdfast.DedupKey(m.DedupKey))
	}
	return opts
}

type messageSignalIn struct {
	api.In

	ID   api.ID `path:"id"`
	Body MessageSignal
}

func sendSignal(ctx context.Context, c *api.Call, in *messageSignalIn) (*api.Body[views.Sent], error) {
	sent, err := c.Client.SendSignal(ctx, store.ID(in.ID), in.Body.Name, in.Body.Payload, in.Body.options()...)
	return viewSent(&in.Body, sent, err)
}

type messageByKeyIn struct {
	api.In

	Kind string `path:"kind" example:"order"`
	Key  string `path:"key" example:"order-42"`
	Body MessageSignal
}

func sendByKey(ctx context.Context, c *api.Call, in *messageByKeyIn) (*api.Body[views.Sent], error) {
	sent, err := c.Client.SendSignalByKey(ctx, in.Kind, in.Key, in.Body.Name, in.Body.Payload, in.Body.options()...)
	return viewSent(&in.Body, sent, err)
}

func viewSent(m *MessageSignal, sent holdfast.SendResult, err error) (*api.Body[views.Sent], error) {
	if err != nil {
		return nil, problem.At("", err)
	}
	return &api.Body[views.Sent]{Body: views.Sent{
		ID: sent.Job.String(), Signal: m.Name, DedupKey: views.Text(m.DedupKey), Message: views.Big(sent.Message), Duplicate: sent.Duplicate,
	}}, nil
}

type messageUpdateIn struct {
	api.In

	ID   api.ID `path:"id"`
	Name string `path:"name" example:"add line"`
	Wait string `query:"wait" doc:"How long to wait for the answer, at most 1m; 30s if it is left out"`
	Body *struct {
		Payload  api.Payload `json:"payload,omitempty" doc:"JSON of your own"`
		DedupKey string      `json:"dedup_key,omitempty" doc:"Another request with it sends nothing, and gets the same answer"`
	}
}

type messageUpdateOut struct {
	Status     int
	RetryAfter int `header:"Retry-After"`
	Body       MessageAnswer
}

// MessageAnswer is what a job has answered to a request.
type MessageAnswer struct {
	ID       string      `json:"id" doc:"The job"`
	Update   string      `json:"update"`
	DedupKey string      `json:"dedup_key" doc:"With which the same request gets the same answer"`
	State    string      `json:"state" doc:"answered, refused, failed, or waiting: there is no answer yet"`
	Answer   api.Payload `json:"answer"`
	Error    views.Text  `json:"error" doc:"What the job said, if it refused the request or failed in it"`
}

func callUpdate(ctx context.Context, c *api.Call, in *messageUpdateIn) (*messageUpdateOut, error) {
	wait := 30 * time.Second
	if in.Wait != "" {
		var err error
		if wait, err = api.ParseWait("wait", in.Wait, maxWait); err != nil {
			return nil, err
		}
	}
	if _, err := c.Client.Get(ctx, store.ID(in.ID)); err != nil {
		return nil, err
	}
	key, payload := "", api.Payload(nil)
	if in.Body != nil {
		key, payload = in.Body.DedupKey, in.Body.Payload
	}
	if key == "" {
		key = c.RequestName()
	}
	if key == "" {
		key = holdfast.NewID().String()
	}
	// It is sent at least, however short the wait is.
	waiting, cancel := c.Waiting(ctx, 100*time.Millisecond, wait)
	defer cancel()
	answer, err := c.Client.CallUpdate(waiting, store.ID(in.ID), in.Name, payload, holdfast.DedupKey(key))
	out := &messageUpdateOut{Status: http.StatusOK, Body: MessageAnswer{
		ID: store.ID(in.ID).String(), Update: in.Name, DedupKey: key, State: "answered", Answer: c.Visible(answer),
	}}
	told, isTold := errors.AsType[*holdfast.UpdateError](err)
	switch {
	case err == nil:
		return out, nil
	case isTold:
		out.Body.State, out.Body.Error = "failed", views.Text(told.Message)
		if told.Refused {
			out.Body.State = "refused"
		}
		return out, nil
	case waiting.Err() != nil && ctx.Err() == nil:
		out.Status, out.RetryAfter, out.Body.State = http.StatusAccepted, 1, "waiting"
		return out, nil
	}
	return nil, problem.At("", err)
}

// MessageItem is an item of a stream, or a value that was published.
type MessageItem struct {
	Offset views.Big       `json:"offset"`
	At     views.Timestamp `json:"at"`
	Value  api.Payload     `json:"value"`
}

func viewItem(c *api.Call, item *holdfast.StreamItem) MessageItem {
	v := views.NewItem(item)
	return MessageItem{Offset: v.Offset, At: v.At, Value: c.Visible(v.Value)}
}

type messagePublishedIn struct {
	api.In

	ID    api.ID  `path:"id"`
	Key   string  `path:"key" example:"progress"`
	After api.Big `query:"after" doc:"Only a value behind this offset"`
	Wait  string  `query:"wait" doc:"How long to wait for one, at most 1m; 0s if it is left out"`
}

func published(ctx context.Context, c *api.Call, in *messagePublishedIn) (*api.Body[MessageItem], error) {
	wait, err := api.ParseWait("wait", in.Wait, maxWait)
	if err == nil {
		_, err = c.Client.Get(ctx, store.ID(in.ID))
	}
	if err != nil {
		return nil, err
	}
	nothing := problem.New(problem.NotFound, "the job has published no value under this key behind that offset")
	if wait == 0 {
		item, ok, err := c.Client.Published(ctx, store.ID(in.ID), in.Key)
		if err == nil && (!ok || item.Offset <= int64(in.After)) {
			return nil, nothing
		}
		return &api.Body[MessageItem]{Body: viewItem(c, &item)}, problem.At("path/key", err)
	}
	waiting, cancel := c.Waiting(ctx, 0, wait)
	defer cancel()
	item, err := c.Client.WaitPublished(waiting, store.ID(in.ID), in.Key, int64(in.After))
	switch {
	case err != nil && c.IsStopping():
		return nil, problem.New(problem.Stopping, "the server is stopping; ask another one").In(time.Second)
	case errors.Is(err, store.ErrNotFound), err != nil && waiting.Err() != nil && ctx.Err() == nil:
		return nil, nothing
	case err != nil:
		return nil, problem.At("path/key", err)
	}
	return &api.Body[MessageItem]{Body: viewItem(c, &item)}, nil
}

type messageStreamIn struct {
	api.In

	ID    api.ID  `path:"id"`
	Name  string  `path:"name" example:"tokens"`
	After api.Big `query:"after" doc:"Only items behind this offset"`
	Limit int     `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

func stream(ctx context.Context, c *api.Call, in *messageStreamIn) (*api.Body[api.Page[MessageItem]], error) {
	if _, err := c.Client.Get(ctx, store.ID(in.ID)); err != nil {
		return nil, err
	}
	all, err := c.Client.Stream(ctx, store.ID(in.ID), in.Name, int64(in.After), in.Limit)
	if err != nil {
		return nil, problem.At("path/name", err)
	}
	items := make([]MessageItem, len(all))
	for i := range all {
		items[i] = viewItem(c, &all[i])
	}
	next := ""
	if len(all) == in.Limit {
		next = strconv.FormatInt(all[len(all)-1].Offset, 10)
	}
	return &api.Body[api.Page[MessageItem]]{Body: api.NewPage(items, next)}, nil
}
