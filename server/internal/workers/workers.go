package workers

import (
	"net/http"

	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/api"
)

const tag = "workers"

// Register registers the operations.
func Register(a *api.API) {
	s := &service{api: a}
	s.registerWorkers(a)
	s.registerRuns(a)
}

func (s *service) registerWorkers(a *api.API) {
	op := func(id, path, summary, about string) api.Op {
		return api.Op{
			ID: "worker-" + id, Method: http.MethodPost, Path: "/workers" + path, Tag: tag, Scope: access.Workers, Summary: summary, About: about,
		}
	}
	register := op("register", "", "Register a worker",
		`It becomes a node of the database. The answer has its token, which all servers of the database know: send it in the paths of
the other operations. A worker that is silent for dead_after is declared dead, and its jobs run elsewhere; what it sends then is
refused with worker_gone: it gives up what it runs, and registers again. If the answer was lost send it again with the same
Idempotency-Key: the same worker is answered, or worker_gone if that is gone meanwhile.`)
	register.Status = http.StatusCreated
	api.Register(a, register, s.register)
	poll := op("poll", "/{worker}/poll", "Claim jobs",
		`Waits for jobs if there are none. A poll is a beat, also while it waits. The worker numbers its polls, from 1 on, and sends one
after the other. If the answer was lost it sends the same poll again, with repeat, to any server: what was claimed is
answered then, and nothing is claimed twice. An answer without jobs comes when the time is over, when the server stops, or
when people want something else of the worker (mode).`)
	poll.Timeout = maxWait + api.CallTimeout
	api.Register(a, poll, s.poll)
	api.Register(a, op("beat", "/{worker}/beat", "Say that a worker lives, and what it runs",
		`Every beat_every. What the worker holds and has not listed for two beats is given up, and runs elsewhere: list what you have not
got the answer of its outcome for. The answer says which of them to stop.`), s.beat)
	api.Register(a, op("leave", "/{worker}/leave", "Leave",
		"The worker gives back all jobs that it holds, and is gone. Leaving twice does nothing."), s.leave)
}
