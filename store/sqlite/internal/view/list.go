package view

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

const (
	// listLook is how many rows List looks at for one page before it returns what it has.
	listLook = 10_000
	// listWaiting is how many waiting jobs there may be for List to read and sort all of their
	// pointers, which finds the few that wait among millions that are finished.
	listWaiting = 20_000
)

// List implements store.Reader. The cursor is the id of the last job that was looked at.
func (v Verbs) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	if err := errors.Join(store.CheckLimit(params.Limit), params.Filter.CheckKey()); err != nil {
		return store.Page{}, err
	}
	before := uuid.Max
	if params.After != "" {
		var err error
		// Only as List writes it: uuid.Parse takes other forms, too.
		if before, err = uuid.Parse(params.After); err != nil || before.String() != params.After {
			return store.Page{}, store.BadCursor(params.After)
		}
	}
	var page store.Page
	err := v.d.Read(ctx, "list jobs", func(t *core.Tx) error {
		l := &lister{Tx: t, params: params}
		err := l.run(before)
		page = l.page
		return err
	})
	return page, err
}

// lister fills one page.
type lister struct {
	*core.Tx
	params store.ListParams
	page   store.Page
	runs   core.RunningJobs // read when the first job is found to run
	lanes  map[int64]bool

	pointers bool          // ids and ended are where the candidates come from
	ids      []store.ID    // of jobs that wait or run, newest first
	ended    []store.State // of which finished jobs are wanted
}

// candidate is a job that may be on the page.
type candidate struct {
	id   store.ID
	lane int64
	tags []byte
}

func (l *lister) run(before store.ID) error {
	if err := l.choose(); err != nil {
		return err
	}
	next := l.fromBodies
	switch {
	case l.params.Filter.Parent != uuid.Nil && l.params.Filter.Key != "":
		return nil // no child has a business key
	case l.params.Filter.Parent != uuid.Nil:
		next = l.fromParent
	case l.pointers:
		next = l.fromPointers
	}
	for looked := 0; looked < listLook; {
		n := min(max(2*l.params.Limit, 100), 1000)
		rows, err := next(before, n)
		if err != nil {
			return err
		}
		if full, err := l.take(rows); full || err != nil {
			return err
		}
		if len(rows) < n {
			return nil // the end
		}
		looked += n
		before = rows[n-1].id
	}
	l.page.Next = before.String()
	return nil
}

// take adds candidates to the page. It returns true when there is one more than the page holds.
func (l *lister) take(candidates []candidate) (full bool, err error) {
	for _, c := range candidates {
		if ok, err := l.wanted(c); !ok || err != nil {
			if err != nil {
				return false, err
			}
			continue
		}
		r, found, err := fullRecord(l.Tx, c.id, l.find)
		if err != nil {
			return false, err
		}
		if !found || len(l.params.Filter.States) > 0 && !slices.Contains(l.params.Filter.States, r.State) {
			continue
		}
		if len(l.page.Jobs) == l.params.Limit {
			l.page.Next = l.page.Jobs[l.params.Limit-1].ID.String()
			return true, nil
		}
		r.Result = nil
		l.page.Jobs = append(l.page.Jobs, r)
	}
	return false, nil
}

// wanted looks at what a candidate shows without being read as a whole.
func (l *lister) wanted(c candidate) (bool, error) {
	ok, known := l.lanes[c.lane]
	if !known {
		lane, err := l.LaneOf(c.lane)
		if err != nil {
			return false, err
		}
		f := l.params.Filter
		ok = (f.Namespace == "" || f.Namespace == lane.Namespace) &&
			(len(f.Queues) == 0 || slices.Contains(f.Queues, lane.QueueName)) &&
			(len(f.Kinds) == 0 || slices.Contains(f.Kinds, lane.Base))
		if l.lanes == nil {
			l.lanes = map[int64]bool{}
		}
		l.lanes[c.lane] = ok
	}
	if !ok || len(l.params.Filter.Tags) == 0 {
		return ok, nil
	}
	var tags []string
	if c.tags != nil {
		if err := json.Unmarshal(c.tags, &tags); err != nil {
			return false, fmt.Errorf("%w: tags of job %v: %w", store.ErrInvalid, c.id, err)
		}
	}
	for _, tag := range l.params.Filter.Tags {
		if !slices.Contains(tags, tag) {
			return false, nil
		}
	}
	return true, nil
}

func (l *lister) find(id store.ID) (core.RunningJob, bool, error) {
	if l.runs == nil {
		runs, err := l.RunningJobs()
		if err != nil {
			return core.RunningJob{}, false, err
		}
		l.runs = runs
	}
	run, found := l.runs[id]
	return run, found, nil
}

// fromBodies returns the next n jobs, newest first.
func (l *lister) fromBodies(before store.ID, n int) ([]candidate, error) {
	var rows []candidate
	s := l.Stmt("job_page")
	db.BindID(s, before)
	s.BindInt(int64(n))
	return rows, db.Each(s, func() error {
		rows = append(rows, candidate{db.ReadID(s), s.ReadInt(), db.ReadOptBlob(s)})
		return nil
	})
}

// fromParent returns the next n children of a job, newest first.
func (l *lister) fromParent(before store.ID, n int) ([]candidate, error) {
	var rows []candidate
	s := l.Stmt("children_page")
	db.BindID(s, l.params.Filter.Parent)
	db.BindID(s, before)
	s.BindInt(int64(n))
	return rows, db.Each(s, func() error {
		rows = append(rows, candidate{db.ReadID(s), s.ReadInt(), db.ReadOptBlob(s)})
		return nil
	})
}

// choose decides where the candidates come from. A filter that asks for certain states, and not for
// completed jobs, is served from the pointers, so that what is rare is found without a walk through
// all that is not; unless too much waits.
func (l *lister) choose() error {
	if l.params.Filter.Key != "" {
		return l.chooseKey()
	}
	states := l.params.Filter.States
	if l.params.Filter.Parent != uuid.Nil || len(states) == 0 || slices.Contains(states, store.Completed) {
		return nil
	}
	var ids []store.ID
	var ended []store.State
	var tables []string
	for _, state := range states {
		switch state {
		case store.Available:
			tables = append(tables, "ready_ids", "keyed_ids")
		case store.Scheduled, store.Retryable, store.Waiting:
			tables = append(tables, "deferred_ids")
		case store.Running:
			if _, _, err := l.find(store.ID{}); err != nil {
				return err
			}
			ids = slices.AppendSeq(ids, maps.Keys(l.runs))
		case store.Failed, store.Cancelled:
			ended = append(ended, state)
		default: // no such state, no such job
		}
	}
	slices.Sort(tables)
	for _, table := range slices.Compact(tables) {
		s := l.Stmt(table)
		s.BindInt(listWaiting + 1)
		if err := db.Each(s, func() error {
			ids = append(ids, db.ReadID(s))
			return nil
		}); err != nil {
			return err
		}
		if len(ids) > listWaiting+len(l.runs) {
			return nil
		}
	}
	slices.SortFunc(ids, newestFirst)
	slices.Sort(ended)
	l.pointers, l.ids, l.ended = true, slices.Compact(ids), slices.Compact(ended)
	return nil
}

// chooseKey makes those the candidates that have a business key, or had it last.
func (l *lister) chooseKey() error {
	f := l.params.Filter
	for _, kind := range f.Kinds {
		h, found, err := keys.HolderOf(l.Tx, store.JobKey{Namespace: f.Namespace, Kind: kind, Key: f.Key})
		if err != nil {
			return err
		}
		if found {
			l.ids = append(l.ids, h.Job)
		}
	}
	slices.SortFunc(l.ids, newestFirst)
	l.pointers, l.ids = true, slices.Compact(l.ids)
	return nil
}

func newestFirst(a, b store.ID) int { return bytes.Compare(b[:], a[:]) }

// fromPointers returns the next n jobs, newest first, of those that choose found.
func (l *lister) fromPointers(before store.ID, n int) ([]candidate, error) {
	start, _ := slices.BinarySearchFunc(l.ids, before, newestFirst)
	for start < len(l.ids) && l.ids[start] == before {
		start++
	}
	ids := slices.Clone(l.ids[start:min(start+n, len(l.ids))])
	for _, state := range l.ended {
		s := l.Stmt("finished_page")
		s.BindInt(int64(state))
		db.BindID(s, before)
		s.BindInt(int64(n))
		if err := db.Each(s, func() error {
			ids = append(ids, db.ReadID(s))
			return nil
		}); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(ids, newestFirst)
	rows := make([]candidate, 0, n)
	for _, id := range ids[:min(n, len(ids))] {
		s := l.Stmt("job_tags")
		db.BindID(s, id)
		found, err := s.Next()
		if err != nil {
			return nil, err
		}
		if found {
			rows = append(rows, candidate{id, s.ReadInt(), db.ReadOptBlob(s)})
			s.Done()
		}
	}
	return rows, nil
}
