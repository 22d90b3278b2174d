package events

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
	"github.com/holdfastdev/holdfast/store"
)

// media are the types of a stream.
var media = map[string]string{
	sse.media: `Frames with event, id and data, which is JSON on one line, and a comment every 15 s.
The id is where to go on: send it as Last-Event-ID. A frame with an id alone only moves it on.`,
	ndjson.media: `Lines such as {"event":"job.updated","id":"n1b3k2x7q4-1204","data":{…}}, and {"event":"heartbeat"} every 15 s.`,
}

func registerFeed(a *api.API, s *streams) {
	api.RegisterStream(a, api.Op{
		ID: "event-follow", Method: http.MethodGet, Path: "/events", Tag: tag, Scope: access.EventsRead,
		Summary: "Follow every change of a job's state",
		About: `The feed has to be on. The frames are:

- ` + "`hello`" + `: first; the server's time, and the position after which the stream begins;
- ` + "`job.updated`" + `: a job has arrived in a state;
- ` + "`reset`" + `: changes after the position that was asked for, or that a slow reader had come to, are not kept any more. Look
  at the jobs: what follows comes after newest;
- ` + "`bye`" + `: last; why, and when to come back.

No change is left out and none comes twice, also over several connections, if each begins with the id of the last frame
of the one before. Of jobs that were removed before their change was read no namespace is known: only keys that have all
namespaces get these, whatever queue and kind they ask for.`,
	}, media, s.follow)
	api.Register(a, api.Op{
		ID: "event-list", Method: http.MethodGet, Path: "/events/list", Tag: tag, Scope: access.EventsRead,
		Summary: "List changes of the states of jobs",
		About:   "Those that fit among the next limit changes after a position: a page may have fewer, and none, though more is true.",
	}, list)
}

// EventFilter are the parameters that select changes: of each that is given one value must fit.
type EventFilter struct {
	Queue []string `query:"queue,explode" maxItems:"100" doc:"Of jobs in one of these queues"`
	Kind  []string `query:"kind,explode" maxItems:"100" doc:"Of jobs of one of these kinds"`
	State []string `query:"state,explode" maxItems:"10" doc:"To one of these states"`
	Job   []string `query:"job,explode" maxItems:"100" doc:"Of one of these jobs"`
}

func (in *EventFilter) filter() (f events.Filter, err error) {
	f = events.Filter{Queues: in.Queue, Kinds: in.Kind}
	for _, name := range in.State {
		state, err := store.ParseState(name)
		if err != nil {
			return f, problem.Invalid("query/state", "there is no state "+strconv.Quote(name))
		}
		f.States = append(f.States, state)
	}
	for _, text := range in.Job {
		var id api.ID
		if err := id.UnmarshalText([]byte(text)); err != nil {
			return f, problem.Invalid("query/job", err.Error())
		}
		f.Jobs = append(f.Jobs, store.ID(id))
	}
	return f, nil
}

type followIn struct {
	api.In
	EventFilter

	After  string `query:"after" doc:"Begin after this position; oldest: with all that is kept; now, if it is left out"`
	LastID string `header:"Last-Event-ID" doc:"The id of the last frame that was received; it counts more than after"`
}

// oldest is the word for the position before all that is kept.
const oldest = "oldest"

// position reads a position that a request names.
func position(at, text string) (events.Position, error) {
	if text == oldest {
		return events.Position{}, nil
	}
	p, err := events.ParsePosition(text)
	if err == nil && p.String() != text {
		err = store.ErrInvalid
	}
	if err != nil {
		return p, problem.Invalid(at, strconv.Quote(cut(text))+" is no position, such as n1b3k2x7q4-1204")
	}
	return p, nil
}

// cut bounds a text that a client has sent.
func cut(text string) string { return text[:min(len(text), 60)] }

// begin is where a stream begins. Without a place in the request it is where the feed ends now.
func (in *followIn) begin(ctx context.Context, client *holdfast.Client) (p events.Position, err error) {
	switch {
	case in.LastID != "":
		p, err = position("header/Last-Event-ID", in.LastID)
	case in.After != "":
		p, err = position("query/after", in.After)
	}
	if err != nil {
		return p, err
	}
	ctx, cancel := context.WithTimeout(ctx, api.CallTimeout)
	defer cancel()
	status, err := events.Look(ctx, client)
	if err == nil && !status.On {
		err = events.ErrOff
	}
	if in.LastID == "" && in.After == "" {
		p = status.Newest
	}
	return p, err
}

func (s *streams) follow(ctx context.Context, c *api.Call, in *followIn) (api.Written, error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	from, err := in.begin(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	filter.Marks = true
	f := following{client: c.Client, filter: filter, encodings: &s.encodings, seesRemoved: c.Principal.Namespaces == nil}
	return func(w http.ResponseWriter, r *http.Request) {
		s.serve(w, r, from.String(), func(ctx context.Context) iter.Seq2[frame, error] { return f.frames(ctx, from) })
	}, nil
}

// EventChange is a job that has arrived in a state.
type EventChange struct {
	Position    string          `json:"position" doc:"Where to go on after it"`
	At          views.Timestamp `json:"at"`
	Job         string          `json:"job"`
	State       string          `json:"state"`
	Reason      views.Text      `json:"reason" doc:"Why it has failed or was cancelled"`
	Fingerprint views.Text      `json:"fingerprint" doc:"Of a job that has failed, and still stands so"`
	Namespace   views.Text      `json:"namespace" doc:"null if the job has been removed, as are queue and kind"`
	Queue       views.Text      `json:"queue"`
	Kind        views.Text      `json:"kind"`
}

func viewChange(e *events.Event) EventChange {
	v := EventChange{
		Position: e.Position.String(), At: views.Timestamp(e.At), Job: e.Job.String(), State: e.State.String(), Reason: views.Text(e.Reason),
		Namespace: views.Text(e.Namespace), Queue: views.Text(e.Queue), Kind: views.Text(e.Kind),
	}
	if e.Fingerprint != 0 {
		v.Fingerprint = views.Text(store.FingerprintText(e.Fingerprint))
	}
	return v
}

// EventReset says that changes are gone.
type EventReset struct {
	After  string `json:"after"`  // the position to go on from
	Oldest string `json:"oldest"` // after which all that is kept comes
	Newest string `json:"newest"` // after which the stream goes on
}

// following is a stream of changes.
type following struct {
	client      *holdfast.Client
	filter      events.Filter
	encodings   *encodings
	seesRemoved bool
}

// pause is how long it waits when the database did not answer.
const pause = time.Second

// frames yields the changes after a position. It goes on after an outage where it was.
func (f *following) frames(ctx context.Context, at events.Position) iter.Seq2[frame, error] {
	return func(yield func(frame, error) bool) {
		for {
			var failed error
			for e, err := range events.Read(ctx, f.client, at, f.filter) {
				if failed = err; err != nil {
					break
				}
				at = e.Position
				next, err := f.frame(&e)
				if err != nil {
					yield(frame{}, err)
					return
				}
				if next.event != "" && !yield(next, nil) {
					return
				}
			}
			reset, gone := errors.AsType[*events.ResetError](failed)
			switch {
			case gone:
				at = reset.Newest
				data := EventReset{reset.After.String(), reset.Oldest.String(), reset.Newest.String()}
				if !yield(frame{event: "reset", id: data.Newest, data: data}, nil) {
					return
				}
			case errors.Is(failed, store.ErrUnavailable):
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return
				}
			default:
				yield(frame{}, failed)
				return
			}
		}
	}
}

// frame is what is told of a change; without an event: nothing.
func (f *following) frame(e *events.Event) (frame, error) {
	switch {
	case e.State == 0:
		return frame{event: "position", id: e.Position.String()}, nil
	case e.Namespace == "" && !f.seesRemoved:
		return frame{}, nil
	}
	data, err := f.encodings.change(e)
	return frame{event: "job.updated", id: e.Position.String(), data: data}, err
}

type listIn struct {
	api.In
	EventFilter

	After string `query:"after" doc:"Only what comes after this position; all that is kept, if it is left out"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"200" doc:"How many changes are looked at"`
}

// EventPage is a page of changes.
type EventPage struct {
	Items []EventChange `json:"items" nullable:"false"`
	Next  string        `json:"next" doc:"The position to go on from, also for a stream"`
	More  bool          `json:"more" doc:"There are more now"`
}

func list(ctx context.Context, c *api.Call, in *listIn) (*api.Body[EventPage], error) {
	filter, err := in.filter()
	if err != nil {
		return nil, err
	}
	var from events.Position
	if in.After != "" {
		if from, err = position("query/after", in.After); err != nil {
			return nil, err
		}
	}
	page, err := events.List(ctx, c.Client, from, filter, in.Limit)
	if err != nil {
		return nil, err
	}
	v := EventPage{Items: []EventChange{}, Next: page.Next.String(), More: page.More}
	for i := range page.Events {
		if e := &page.Events[i]; e.Namespace != "" || c.Principal.Namespaces == nil {
			v.Items = append(v.Items, viewChange(e))
		}
	}
	return &api.Body[EventPage]{Body: v}, nil
}
