package view

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// jobFacts is what a list looks at of a job without reading it as a whole.
type jobFacts struct {
	id          store.ID
	lane, runAt int64
	orderingKey string
	tags        []byte
	parent      store.ID // or its batch, of a member
	member      bool

	state      store.State // 0: not looked up
	finishedAt int64
	reason     store.Reason
	alike      int64 // its fingerprint
	ended      bool  // finishedAt, reason and alike were looked up, if it has finished
}

func readFacts(s db.Stmt) jobFacts {
	j := jobFacts{id: db.ReadID(s), lane: s.ReadInt(), runAt: s.ReadInt(), orderingKey: db.ReadOptText(s), tags: db.ReadOptBlob(s)}
	if !s.ReadNull() {
		j.parent = db.ReadID(s)
	}
	j.member = db.ReadOptInt(s) != 0
	return j
}

// facts returns what is looked at of a job.
func (l *tables) facts(id store.ID) (j jobFacts, found bool, err error) {
	s := l.Stmt("job_facts")
	db.BindID(s, id)
	if found, err = s.Next(); found {
		j = readFacts(s)
		s.Done()
	}
	return j, found, err
}

// lookUpEnd finds out whether and how a job has finished.
func (l *tables) lookUpEnd(j *jobFacts) error {
	s := l.Stmt("end_facts")
	db.BindID(s, j.id)
	found, err := s.Next()
	if j.ended = true; found {
		j.state, j.finishedAt, j.reason = store.State(s.ReadInt()), s.ReadInt(), store.Reason(db.ReadOptText(s))
		j.alike = db.ReadOptInt(s)
		s.Done()
	}
	return err
}

// lookUp finds out the state of a job, and of one that is not finished when it is due.
func (l *tables) lookUp(j *jobFacts) error {
	if err := l.lookUpEnd(j); err != nil || j.state.Finished() {
		return err
	}
	known, err := l.LaneOf(j.lane)
	if err != nil {
		return err
	}
	b := &core.Body{Job: store.Job{ID: j.id, OrderingKey: j.orderingKey, Priority: known.Priority}, Lane: known, RunMicros: j.runAt}
	if j.state, _, err = l.PointerState(b); err != nil {
		return err
	}
	switch j.state {
	case 0:
		j.state = store.Running
	case store.Scheduled, store.Retryable, store.Waiting:
		j.runAt = b.Due // that of a held job is not in its body
	default:
	}
	return nil
}

// Fits implements lists.Tables.
func (l *tables) Fits(found []lists.Found) ([]bool, error) {
	fits := make([]bool, len(found))
	for i := range found {
		j, there, err := l.facts(found[i].ID)
		if err != nil {
			return nil, err
		}
		if !there {
			continue
		}
		j.state = found[i].State
		if fits[i], err = l.fits(&j); err != nil {
			return nil, err
		}
	}
	return fits, nil
}

// fits looks whether a job fits the filter. What costs the least is looked at first.
func (l *tables) fits(j *jobFacts) (bool, error) {
	f := l.filter
	if !l.allLanes() {
		lanes, err := l.readLanes()
		if err != nil || !lanes[j.lane].selected {
			return false, err
		}
	}
	if of := lists.Kin(f); of != uuid.Nil && j.parent != of || f.NoParent && j.parent != uuid.Nil && !j.member {
		return false, nil
	}
	if ok, err := hasTags(j, f.Tags); !ok || err != nil {
		return false, err
	}
	if ok, err := l.fitsState(j); !ok || err != nil {
		return false, err
	}
	if f.LostFrom != 0 {
		s := l.Stmt("lost_from_has")
		s.BindInt(f.LostFrom)
		db.BindID(s, j.id)
		if lost, err := db.Exists(s); !lost || err != nil {
			return false, err
		}
	}
	if f.Root != uuid.Nil {
		return l.descends(j.parent, f.Root)
	}
	return true, nil
}

// fitsState looks at the state of a job and its times, as far as they matter.
func (l *tables) fitsState(j *jobFacts) (bool, error) {
	f := l.filter
	runs, ends := lists.RunTimes(f), lists.FinishedTimes(f)
	if j.state == 0 && l.wanted != lists.Every {
		look := l.lookUp
		if unfinished := l.wanted & store.Unfinished; (unfinished == 0 || unfinished == store.Unfinished) && runs.IsAll() {
			look = l.lookUpEnd // which of the others it is does not matter
		}
		if err := look(j); err != nil {
			return false, err
		}
		switch {
		case j.state != 0 && !l.wanted.Has(j.state), j.state == 0 && l.wanted&store.Unfinished == 0:
			return false, nil
		case !j.state.Finished() && !runs.Has(j.runAt):
			return false, nil
		}
	}
	if len(f.Reasons) == 0 && len(f.Fingerprints) == 0 && ends.IsAll() {
		return true, nil
	}
	if !j.ended {
		if err := l.lookUpEnd(j); err != nil {
			return false, err
		}
	}
	return ends.Has(j.finishedAt) && (len(f.Reasons) == 0 || slices.Contains(f.Reasons, j.reason)) &&
		(len(f.Fingerprints) == 0 || slices.Contains(f.Fingerprints, j.alike)), nil
}

func hasTags(j *jobFacts, wanted []string) (bool, error) {
	if len(wanted) == 0 {
		return true, nil
	}
	var tags []string
	if j.tags != nil {
		if err := json.Unmarshal(j.tags, &tags); err != nil {
			return false, fmt.Errorf("%w: tags of job %v: %w", store.ErrInvalid, j.id, err)
		}
	}
	for _, tag := range wanted {
		if !slices.Contains(tags, tag) {
			return false, nil
		}
	}
	return true, nil
}

// descends looks whether a job's parent is another job, or descends from it.
func (l *tables) descends(parent, root store.ID) (bool, error) {
	for parent != uuid.Nil {
		if parent == root {
			return true, nil
		}
		j, found, err := l.facts(parent)
		if err != nil || !found {
			return false, err
		}
		parent = j.parent
	}
	return false, nil
}
