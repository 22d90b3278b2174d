package dead

import (
	"context"
	"net/http"
	"time"

	"github.com/holdfastdev/holdfast/dead"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/problem"
)

// writeWait is how long a write may take.
const writeWait = 30 * time.Second

func registerExport(a *api.API, op api.Op) {
	media := map[string]string{"application/x-ndjson": "A job on each line, with its payloads as they are stored."}
	api.RegisterStream(a, op, media, export)
}

type exportIn struct {
	api.In
	GroupsIn

	Tag          []string  `query:"tag,explode" maxItems:"100" doc:"With all of these tags"`
	FailedAfter  time.Time `query:"failed_after" doc:"That failed then or later"`
	FailedBefore time.Time `query:"failed_before" doc:"That failed before"`
}

func export(_ context.Context, c *api.Call, in *exportIn) (api.Written, error) {
	if !c.Principal.May(access.PayloadsRead) {
		return nil, problem.New(problem.Forbidden, "the key does not have the scope payloads:read; use one that has it")
	}
	filter, err := in.filter(c.Client.Namespace())
	if err != nil {
		return nil, err
	}
	filter.Tags, filter.FinishedAfter, filter.FinishedBefore = in.Tag, in.FailedAfter, in.FailedBefore
	return func(w http.ResponseWriter, r *http.Request) {
		to := &patient{w: w, socket: http.NewResponseController(w)}
		_, err := dead.Export(r.Context(), c.Client, filter, to)
		switch {
		case err != nil && !to.begun:
			problem.Write(w, r, problem.At("query", err))
		case err != nil:
			panic(http.ErrAbortHandler) // what has arrived must not be taken for all
		case !to.begun:
			to.begin()
		}
	}, nil
}

// patient writes an answer of any length, as long as its reader takes it.
type patient struct {
	w      http.ResponseWriter
	socket *http.ResponseController
	begun  bool
}

func (p *patient) begin() {
	p.begun = true
	p.w.Header().Set("Content-Type", "application/x-ndjson")
	p.w.WriteHeader(http.StatusOK)
}

func (p *patient) Write(data []byte) (int, error) {
	if !p.begun {
		p.begin()
	}
	_ = p.socket.SetWriteDeadline(time.Now().Add(writeWait)) // a writer that has none needs none
	return p.w.Write(data)
}
