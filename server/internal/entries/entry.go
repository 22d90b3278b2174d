package entries

import (
	"time"

	"github.com/holdfastdev/holdfast/server/internal/api"
	"github.com/holdfastdev/holdfast/server/internal/jobs"
)

const (
	// Most is how many entries one request appends at the most.
	Most = 100
	// MaxData is how much JSON an entry holds, as a result and a payload do.
	MaxData = 1 << 20
	// maxPath is how long a path may be, in bytes.
	maxPath = 200
)

// RunEntry is an entry to append.
type RunEntry struct {
	Kind    string        `json:"kind" enum:"step,step failed,step retry,timer,timeout,received,child,callback,selected,value,patched,published,streamed,awaited" doc:"What was done; docs/journal-format.md has the fields of each"`
	Path    string        `json:"path,omitempty" maxLength:"200" doc:"The operation's place in the run: 1, 2, 3, or 2.1 in a strand that began at 2; only patched has none" example:"1"`
	Name    string        `json:"name,omitempty" doc:"Of a step, a signal, a child (its kind), a key, a stream, a change or a condition"`
	Message int64         `json:"message,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Of received: the number of the message"`
	Data    api.Payload   `json:"data,omitempty" doc:"As the kind wants it"`
	Took    api.Duration  `json:"took,omitzero" doc:"Of a step: how long its last try took"`
	For     *api.Duration `json:"for,omitempty" doc:"Of timer and step retry, instead of until in its data: the server makes the time of it, by the clock of the database"`
	Job     *jobs.NewJob  `json:"job,omitempty" doc:"Of child: the job, which is enqueued together with the entry"`
	OnClose string        `json:"on_close,omitempty" enum:"cancel,abandon,terminate" doc:"Of child: what becomes of it if the run's job ends first; cancel if it is left out"`
	Signal  *RunSignal    `json:"signal,omitempty" doc:"Of step: a signal that is sent together with the entry"`
}

// RunSignal is a signal to another job.
type RunSignal struct {
	Job      api.ID      `json:"job"`
	Name     string      `json:"name" minLength:"1" example:"approved"`
	Payload  api.Payload `json:"payload,omitempty" doc:"JSON of your own"`
	DedupKey string      `json:"dedup_key" minLength:"1" doc:"Only the first message with it arrives: let it be the same whenever the run is repeated"`
}

// ends is the time that an entry's for makes, or said.
func (e *RunEntry) ends(said, now time.Time) time.Time {
	if e.For == nil {
		return said
	}
	return now.Add(max(time.Duration(*e.For), 0))
}
