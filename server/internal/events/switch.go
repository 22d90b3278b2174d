package events

import (
	"context"
	"net/http"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/events"
	"github.com/holdfastdev/holdfast/internal/cli/views"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
)

func registerSwitch(a *api.API) {
	api.Register(a, api.Op{
		ID: "event-status", Method: http.MethodGet, Path: "/events/status", Tag: tag, Scope: access.EventsRead,
		Summary: "Whether the feed of changes is on, and what it keeps",
	}, func(ctx context.Context, c *api.Call, _ *api.In) (*api.Body[EventFeed], error) {
		return turned(ctx, c, events.Look)
	})
	for id, turn := range map[string]struct {
		path, summary, about string
		do                   func(context.Context, *holdfast.Client) (events.Status, error)
	}{
		"event-on": {"/events/on", "Switch the feed of changes on", `For all namespaces of the database. On PostgreSQL it waits, up to 30 seconds,
for transactions that use the tables of jobs.`, events.On},
		"event-off": {"/events/off", "Switch the feed of changes off", `For all namespaces of the database. All changes that are kept are removed;
switched on again it has other positions.`, events.Off},
	} {
		api.Register(a, api.Op{
			ID: id, Method: http.MethodPost, Path: turn.path, Tag: tag, Scope: access.NamespacesAdmin, Summary: turn.summary,
			About: turn.about + " The key needs all namespaces.", Timeout: 2 * api.CallTimeout,
		}, func(ctx context.Context, c *api.Call, _ *api.In) (*api.Body[EventFeed], error) {
			if err := c.NeedsAll("the feed"); err != nil {
				return nil, err
			}
			return turned(ctx, c, turn.do)
		})
	}
}

// EventFeed is the status of the feed.
type EventFeed struct {
	On     bool            `json:"on"`
	Since  views.Timestamp `json:"since" doc:"When it was switched on; null if it is off"`
	Oldest views.Text      `json:"oldest" doc:"The position after which all that is kept comes"`
	Newest views.Text      `json:"newest" doc:"The position of the last change"`
}

func turned(
	ctx context.Context, c *api.Call, turn func(context.Context, *holdfast.Client) (events.Status, error),
) (*api.Body[EventFeed], error) {
	status, err := turn(ctx, c.Client)
	if err != nil {
		return nil, err
	}
	v := EventFeed{On: status.On}
	if status.On {
		v.Since, v.Oldest, v.Newest = views.Timestamp(status.Since), views.Text(status.Oldest.String()), views.Text(status.Newest.String())
	}
	return &api.Body[EventFeed]{Body: v}, nil
}
