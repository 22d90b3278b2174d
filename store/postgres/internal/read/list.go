package read

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// A page looks at this many jobs in one statement, and runs so many of them, before it is returned
// with what it has.
const (
	listStep  = 1000
	listSteps = 10
)

// newest is above every id that a client makes.
var newest = store.ID{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}

// List is that of store.Reader, without the class of its error.
func (s *Store) List(ctx context.Context, params store.ListParams) (page store.Page, err error) {
	if err := errors.Join(store.CheckLimit(params.Limit), params.Filter.CheckKey()); err != nil {
		return page, err
	}
	after := newest
	if params.After != "" {
		// Only as List writes it: uuid.Parse takes other forms too, and what is not ours is no
		// cursor.
		if after, err = uuid.Parse(params.After); err != nil || after.String() != params.After {
			return page, store.BadCursor(params.After)
		}
	}
	f := params.Filter
	if f.Key != "" && f.Parent != (store.ID{}) {
		return page, nil // no child has a business key
	}
	for _, text := range slices.Concat([]string{f.Namespace, f.Key}, f.Queues, f.Kinds, f.Tags) {
		if !pg.IsText(text) {
			return page, nil // no job can have it
		}
	}
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		page = store.Page{}
		lanes, err := s.lanesSelected(ctx, t, f)
		if err != nil || lanes != nil && len(lanes) == 0 {
			return err
		}
		return s.fillPage(ctx, t, &page, params, lanes, after)
	})
	return page, err
}

// lanesSelected returns the lanes that a filter selects; nil means all.
func (s *Store) lanesSelected(ctx context.Context, t pg.Session, f store.Filter) ([]int32, error) {
	if f.Namespace == "" && len(f.Queues) == 0 && len(f.Kinds) == 0 {
		return nil, nil
	}
	lanes := []int32{}
	err := t.Run(ctx, "lanes_selected", func(r pg.Row) error {
		l, err := local.ScanLane(r)
		if err == nil {
			s.Lanes.Add(l)
			lanes = append(lanes, l.ID)
		}
		return err
	}, f.Namespace, orNil(f.Queues), orNil(f.Kinds))
	return lanes, err
}

// orNil returns nil, which is sent as NULL, for an empty list.
func orNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// listPlan is how a page of jobs is looked for.
type listPlan struct {
	statement string
	extra     []any // the last parameters of list_not_completed, list_children and list_key
}

// planList chooses where to look: children, what did not complete and what runs are found without a
// look at all that completed.
func planList(f store.Filter) listPlan {
	if f.Key != "" {
		return listPlan{"list_key", []any{f.Namespace, f.Kinds, f.Key}}
	}
	if f.Parent != (store.ID{}) {
		return listPlan{"list_children", []any{pg.UUIDOf(f.Parent)}}
	}
	states := f.States
	ended, running := len(states) > 0, len(states) > 0
	var list []int32
	for _, state := range states {
		ended = ended && (state == store.Failed || state == store.Cancelled)
		running = running && state == store.Running
		list = append(list, int32(state))
	}
	switch {
	case ended:
		return listPlan{"list_not_completed", []any{list}}
	case running:
		return listPlan{"list_running", nil}
	}
	return listPlan{"list_scan", nil}
}

// scanned returns a candidate of a list and whether it fits.
func scanned(r pg.Row) (id store.ID, fits bool, err error) {
	var u pgtype.UUID
	err = r.Scan(&u, &fits)
	return u.Bytes, fits, err
}

func (s *Store) fillPage(
	ctx context.Context, t pg.Session, page *store.Page, params store.ListParams, lanes []int32, after store.ID,
) error {
	plan := planList(params.Filter)
	var tags *string
	if len(params.Filter.Tags) > 0 {
		text, err := json.Marshal(params.Filter.Tags)
		if err != nil {
			return err
		}
		list := string(text)
		tags = &list
	}
	args := func() []any {
		args := []any{pg.UUIDOf(after), int32(listStep), lanes, tags}
		return append(args, plan.extra...)
	}
	for range listSteps {
		var ids []store.ID
		looked := false
		err := t.Run(ctx, plan.statement, func(r pg.Row) error {
			id, fits, err := scanned(r)
			if looked, after = true, id; fits && err == nil {
				ids = append(ids, id)
			}
			return err
		}, args()...)
		if err != nil {
			return err
		}
		if !looked {
			page.Next = ""
			return nil
		}
		if full, err := s.takePage(ctx, t, page, params, ids); err != nil || full {
			return err
		}
		page.Next = after.String()
	}
	return nil
}

// takePage adds those of the jobs to the page that are in a wanted state, until it is full. The
// bodies are read in small parts, since often the first few fill the page.
func (s *Store) takePage(
	ctx context.Context, t pg.Session, page *store.Page, params store.ListParams, ids []store.ID,
) (full bool, err error) {
	for len(ids) > 0 {
		n := min(len(ids), max(params.Limit-len(page.Jobs), 50))
		found := &recordSet{ids: ids[:n]}
		st := found.statement()
		if err := t.Run(ctx, st.Name, st.Each, st.Args...); err != nil {
			return false, err
		}
		records, err := s.namedRecords(ctx, found)
		if err != nil {
			return false, err
		}
		for _, r := range records {
			if len(params.Filter.States) > 0 && !slices.Contains(params.Filter.States, r.State) {
				continue
			}
			if len(page.Jobs) == params.Limit {
				page.Next = page.Jobs[params.Limit-1].ID.String()
				return true, nil
			}
			r.Result = nil
			page.Jobs = append(page.Jobs, r)
		}
		ids = ids[n:]
	}
	return false, nil
}
