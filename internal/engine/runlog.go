package engine

import (
	"log/slog"

	"github.com/holdfastdev/holdfast/internal/logs"
	"github.com/holdfastdev/holdfast/internal/replay"
	"github.com/holdfastdev/holdfast/internal/runlog"
	"github.com/holdfastdev/holdfast/store"
)

// Logger returns a logger with the attributes of the run: log, or the engine's if it is nil. What
// the strand logs by it is kept with the job, too, unless an earlier run has logged it.
func (r *Run) Logger(by *replay.Strand, log *slog.Logger) *slog.Logger {
	if log == nil {
		log = r.node.engine.plain
	}
	job := &r.claimed.Job
	if space := r.node.runner.space(); space != "" {
		log = log.With(logs.KeyNamespace, space)
	}
	log = log.With(logs.KeyJob, job.ID, logs.KeyKind, job.Kind, logs.KeyQueue, job.Queue,
		logs.KeyAttempt, job.Attempt, logs.KeyNode, r.claimed.Lease.Node)
	if !r.node.engine.cfg.Logs.Off {
		log = r.lines().Logger(log.Handler(), by.Replays)
	}
	if hide := r.node.engine.cfg.Redact; hide != nil { // before the line is kept, too
		log = slog.New(hide(log.Handler()))
	}
	return log
}

// lines is what the run logs.
func (r *Run) lines() *runlog.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.logged == nil {
		r.logged = r.node.engine.logs.Begin(&r.claimed)
	}
	return r.logged
}

// hasLogged is lines, or nil if the run has not logged.
func (r *Run) hasLogged() *runlog.Run {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.logged
}

// ending adds the jobs whose outcomes are on their way: they wait for lines first.
func (e *Engine) ending(jobs map[store.ID]bool) {
	e.logs.Ending(jobs)
	e.commit.Ending(jobs)
}

// lostLogs reports lines that were to be kept and are lost.
func (e *Engine) lostLogs(lines int, err error) {
	e.lines.Say(slog.LevelWarn, logs.About{}, "lines that runs have logged could not be stored and are lost",
		slog.Int(logs.KeyLines, lines), slog.Any(logs.KeyError, err))
}
