package read

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/postgres/internal/local"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// List is that of store.Reader, without the class of its error.
func (s *Store) List(ctx context.Context, params store.ListParams) (page store.Page, err error) {
	after, err := lists.Begin(&params)
	if err != nil || !isAskable(&params.Filter) {
		return page, err
	}
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		tables, err := s.newTables(ctx, t, &params.Filter, params.Sort)
		if err != nil || tables.selectsNothing() && len(params.Filter.Attributes) == 0 {
			return err
		}
		page, err = lists.Page(tables, &params, after)
		return err
	})
	return page, err
}

// Count is that of store.Reader, without the class of its error.
func (s *Store) Count(ctx context.Context, params store.CountParams) (counted store.Counted, err error) {
	sort, after, err := lists.BeginCount(&params)
	if err != nil || !isAskable(&params.Filter) {
		return counted, err
	}
	err = s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		tables, err := s.newTables(ctx, t, &params.Filter, sort)
		if err != nil || tables.selectsNothing() && len(params.Filter.Attributes) == 0 {
			return err
		}
		counted, err = lists.Count(tables, &params.Filter, sort, after)
		return err
	})
	return counted, err
}

// isAskable reports whether the texts of a filter are such that the server can be asked for them.
// No job has another one.
func isAskable(f *store.Filter) bool {
	texts := slices.Concat([]string{f.Namespace, f.Key}, f.Queues, f.Kinds, f.Tags)
	for _, reason := range f.Reasons {
		texts = append(texts, string(reason))
	}
	return !slices.ContainsFunc(texts, func(text string) bool { return !pg.IsText(text) })
}

// tables implements lists.Tables in a transaction.
type tables struct {
	*Store
	ctx    context.Context
	t      pg.Session
	filter *store.Filter
	wanted store.StateSet

	lanes, queues []int32 // that the filter selects; nil: all
	tags          *string
	width         int64 // of the last span in which completed jobs were looked for, in microseconds
}

// newTables finds the lanes that a filter selects.
func (s *Store) newTables(ctx context.Context, t pg.Session, f *store.Filter, sort store.Sort) (*tables, error) {
	l := &tables{Store: s, ctx: ctx, t: t, filter: f, wanted: lists.Wanted(f, sort)}
	if len(f.Tags) > 0 {
		text, err := json.Marshal(f.Tags)
		if err != nil {
			return nil, err
		}
		tags := string(text)
		l.tags = &tags
	}
	if f.Namespace == "" && len(f.Queues) == 0 && len(f.Kinds) == 0 {
		return l, nil
	}
	l.lanes, l.queues = []int32{}, []int32{}
	return l, t.Run(ctx, "lanes_selected", func(r pg.Row) error {
		lane, err := local.ScanLane(r)
		if err == nil {
			s.Lanes.Add(lane)
			l.lanes = append(l.lanes, lane.ID)
			if !slices.Contains(l.queues, lane.QueueID) {
				l.queues = append(l.queues, lane.QueueID)
			}
		}
		return err
	}, f.Namespace, orNil(f.Queues), orNil(f.Kinds))
}

// selectsNothing reports whether no job can be in one of the lanes: there are none.
func (l *tables) selectsNothing() bool { return l.lanes != nil && len(l.lanes) == 0 }

// orNil returns nil, which is sent as NULL, for an empty list.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
