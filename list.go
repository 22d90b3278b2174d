package holdfast

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

// ListBy is List in another order: store.SortOldest, store.SortRunAt, which is of jobs that have
// not finished, or store.SortFinished, of those that have. The cursor of a page belongs to its
// order; with that of another one the error is ErrInvalid, and also if the filter has states that
// the order does not sort.
func (c *Client) ListBy(ctx context.Context, sort store.Sort, filter store.Filter, after string, limit int) (store.Page, error) {
	if err := checkLimit(limit); err != nil {
		return store.Page{}, err
	}
	return c.engine.Store.List(ctx, store.ListParams{Filter: c.own(filter), Sort: sort, After: after, Limit: limit})
}

// Count counts the jobs that a filter selects: exactly up to store.CountBound, above which More is
// set. If the filter has no namespace, the client's is used. It takes as long as it takes to find
// that many jobs; the fields of the filter say how they are found.
func (c *Client) Count(ctx context.Context, filter store.Filter) (store.Count, error) {
	filter = c.own(filter)
	for n, after := 0, ""; ; {
		part, err := c.engine.Store.Count(ctx, store.CountParams{Filter: filter, After: after})
		if err != nil {
			return store.Count{}, err
		}
		n += part.N
		if n > store.CountBound {
			return store.Count{N: store.CountBound, More: true}, nil
		}
		after = part.Next
		if after == "" {
			return store.Count{N: n}, nil
		}
	}
}

// own is the filter in the client's namespace, if it has none.
func (c *Client) own(filter store.Filter) store.Filter {
	if filter.Namespace == "" {
		filter.Namespace = c.Namespace()
	}
	return filter
}

// Info is everything known about a job of a kind, with the types of that.
type Info[In, Out any] struct {
	store.Record

	Args   In
	Result Out // of a completed job
}

// Get returns everything known about a job of the kind. The errors are ErrNotFound, ErrConflict for
// a job of another kind, and ErrInvalid if its args or its result do not decode into the types; the
// record is returned with that.
func (k Kind[In, Out]) Get(ctx context.Context, c *Client, id ID) (Info[In, Out], error) {
	var info Info[In, Out]
	if k.err != nil {
		return info, k.err
	}
	record, err := c.Get(ctx, id)
	if err == nil {
		err = k.is(&record)
	}
	if err != nil {
		return info, err
	}
	info.Record = record
	if err := decodeField(&info.Args, id, "args", record.Args, record.Codec); err != nil {
		return info, err
	}
	if record.State != store.Completed || record.Result == nil {
		return info, nil
	}
	return info, decodeField(&info.Result, id, "result", record.Result, record.ResultCodec)
}

// is reports that a job is of another kind, an ErrConflict.
func (k Kind[In, Out]) is(r *store.Record) error {
	if r.Kind == k.name {
		return nil
	}
	return store.OfAnotherKind(r.ID, r.Kind, k.name)
}

func decodeField[T any](to *T, id ID, what string, data []byte, codec int) error {
	if err := store.SealError(data, codec); err != nil {
		return fmt.Errorf("cannot decode the %s of job %s: %w", what, id, err)
	}
	if codec != 0 {
		return fmt.Errorf("%w: the %s of job %s are not JSON, but have codec %d", ErrInvalid, what, id, codec)
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("%w: cannot decode the %s of job %s into %T: %w", ErrInvalid, what, id, *to, err)
	}
	return nil
}
