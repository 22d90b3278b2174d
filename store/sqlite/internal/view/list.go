package view

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// List implements store.Reader.
func (v Verbs) List(ctx context.Context, params store.ListParams) (page store.Page, err error) {
	after, err := lists.Begin(&params)
	if err != nil {
		return page, err
	}
	err = v.d.Read(ctx, "list jobs", func(t *core.Tx) (err error) {
		page, err = lists.Page(newTables(t, &params.Filter, params.Sort), &params, after)
		return err
	})
	return page, err
}

// Count implements store.Reader.
func (v Verbs) Count(ctx context.Context, params store.CountParams) (counted store.Counted, err error) {
	sort, after, err := lists.BeginCount(&params)
	if err != nil {
		return counted, err
	}
	err = v.d.Read(ctx, "count jobs", func(t *core.Tx) (err error) {
		counted, err = lists.Count(newTables(t, &params.Filter, sort), &params.Filter, sort, after)
		return err
	})
	return counted, err
}
