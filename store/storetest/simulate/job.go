package simulate

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// job is what the ledger knows of a job, by what the store was told of it and has answered.
type job struct {
	body       store.Job // as it was enqueued, with what was changed since by those who may
	state      store.State
	lease      store.Lease // while it runs
	claimedAt  time.Time
	since      int // the call in which its pointer moved last
	cancel     bool
	unsure     bool // whether it is asked to cancel: it is seen when it is claimed
	pause      bool
	wait       *parked // while it waits
	decided    int64   // while it is closing: the entry with which that was decided
	finishedAt time.Time
	holds      bool // its unique key
	recorded   int  // attempts
	inherited  bool // it is a fork
	spared     bool // a person let it run again: the end of its parent may be over for it
	checkpoint []byte
	journal    []store.Entry
	earlier    []store.Entry    // what it published and streamed before the journal began
	wrote      map[written]bool // all entries that it ever had
	inbox      []message
	endings    map[int64]store.State // what the outcomes that ended runs led to, by lease number
}

// parked is how a job waits.
type parked struct {
	store.Wait
	due      time.Time // zero: no time wakes it
	was      store.State
	wasRunAt time.Time
}

// written is that a run wrote an entry.
type written struct{ seq, lease int64 }

// message is one that was sent, with the key of its send.
type message struct {
	store.Message
	key string
}

func (j *job) Name() uint64 { return binary.BigEndian.Uint64(j.body.ID[8:]) }

func (j *job) String() string {
	if j == nil {
		return "no job"
	}
	return fmt.Sprintf("job %06x", j.Name()&0xffffff)
}

func (j *job) running() bool { return j.state == store.Running }

func (j *job) finished() bool { return j.state.Finished() }

func (j *job) durable() bool { return len(j.journal) > 0 }

func (j *job) held() bool { return j.state == store.Waiting && j.wait.Held }

// deferred reports whether the job becomes available when its time comes.
func (j *job) deferred() bool {
	return j.state == store.Scheduled || j.state == store.Retryable || j.state == store.Waiting && !j.wait.due.IsZero()
}

// lane is the name under which nodes ask for the job's kind.
func (j *job) lane() string {
	if j.body.Version == "" {
		return j.body.Kind
	}
	return j.body.Kind + "@" + j.body.Version
}

func (j *job) keyName() string { return j.body.Queue + "/" + j.body.OrderingKey }

func (j *job) lastEntry() int64 {
	if len(j.journal) == 0 {
		return 0
	}
	return j.journal[len(j.journal)-1].Seq
}

func (j *job) lastMessage() int64 {
	if len(j.inbox) == 0 {
		return 0
	}
	return j.inbox[len(j.inbox)-1].Seq
}

func (j *job) entry(seq int64) *store.Entry {
	i := slices.IndexFunc(j.journal, func(e store.Entry) bool { return e.Seq == seq })
	if i < 0 {
		return nil
	}
	return &j.journal[i]
}

// hasGrown reports whether the run of the job has written to its journal, or that says how it ends.
func (j *job) hasGrown() bool {
	n := len(j.journal)
	return n > 0 && (j.journal[n-1].LeaseNumber == j.body.LeaseNumber || j.journal[n-1].Kind == store.EntryEnded)
}

// arrived reports whether a message is there that would wake a run which parks like this.
func (j *job) arrived(wait *store.Wait) bool {
	return slices.ContainsFunc(j.inbox, func(m message) bool { return wait.Wakes(&m.Message) })
}

func (j *job) received(seq int64) bool {
	return slices.ContainsFunc(j.journal, func(e store.Entry) bool { return e.Kind == store.EntryReceived && e.Ref == seq })
}

// answered reports whether a callback was completed or failed.
func (j *job) answered(token string) bool {
	return slices.ContainsFunc(j.inbox, func(m message) bool {
		return m.Name == token && (m.Kind == store.MessageCallback || m.Kind == store.MessageCallbackFailed)
	})
}

func (j *job) opened(token string) bool {
	return slices.ContainsFunc(j.journal, func(e store.Entry) bool { return e.Kind == store.EntryCallback && e.Name == token })
}

// beginAnew replaces what the job remembers, as Continue says.
func (j *job) beginAnew(c *store.Continue) {
	var kept []message
	for _, m := range j.inbox {
		if m.Kind == store.MessageSignal && !j.received(m.Seq) {
			m.Seq = int64(len(kept)) + 1
			kept = append(kept, m)
		}
	}
	next := store.Entry{Seq: j.lastEntry() + 1, Kind: store.EntryContinued, Data: c.Data, LeaseNumber: j.body.LeaseNumber}
	for _, e := range j.journal {
		if e.Kind == store.EntryStreamed || e.Kind == store.EntryPublished {
			j.earlier = append(j.earlier, e)
		}
	}
	j.inbox, j.journal = kept, []store.Entry{next}
	j.body.Args, j.body.Attempt, j.body.Closing = c.Args, 0, false
}

func compareIDs(a, b store.ID) int { return bytes.Compare(a[:], b[:]) }
