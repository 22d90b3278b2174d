package model

import (
	"bytes"
	"context"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
)

// List implements store.Reader. Where pages begin, and how a cursor is written, is what both
// databases share; which jobs fit is written here once more, as plainly as it can be.
func (s *Store) List(ctx context.Context, params store.ListParams) (store.Page, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.mu.Unlock()
	after, err := lists.Begin(&params)
	if err != nil {
		return store.Page{}, err
	}
	if _, err := s.wanted(&params.Filter); err != nil {
		return store.Page{}, err
	}
	found := s.selected(func(j *job) bool {
		return params.Sort.States().Has(j.state) && s.matches(j, &params.Filter) &&
			(after == nil || lists.Compare(params.Sort, j.place(params.Sort), *after) > 0)
	})
	slices.SortFunc(found, func(a, b *job) int { return lists.Compare(params.Sort, a.place(params.Sort), b.place(params.Sort)) })
	var page store.Page
	for i, j := range found {
		if i == params.Limit {
			page.Next = lists.Cursor(params.Sort, found[i-1].place(params.Sort))
			break
		}
		page.Jobs = append(page.Jobs, s.record(j))
	}
	return page, nil
}

// place is where a job is in an order.
func (j *job) place(sort store.Sort) lists.Place {
	p := lists.Place{ID: j.ID}
	switch {
	case sort == store.SortFinished:
		p.At = j.finishedAt.UnixMicro()
	case sort == store.SortRunAt && j.due().IsZero():
		p.At = lists.NoTime
	case sort == store.SortRunAt:
		p.At = j.due().UnixMicro()
	}
	return p
}

// due is the run time of a job as records tell it.
func (j *job) due() time.Time {
	if j.held() {
		return time.Time{}
	}
	return j.RunAt
}

// Count implements store.Reader, in one part.
func (s *Store) Count(ctx context.Context, params store.CountParams) (store.Counted, error) {
	if _, err := s.begin(ctx); err != nil {
		return store.Counted{}, err
	}
	defer s.mu.Unlock()
	if _, _, err := lists.BeginCount(&params); err != nil {
		return store.Counted{}, err
	}
	if _, err := s.wanted(&params.Filter); err != nil {
		return store.Counted{}, err
	}
	return store.Counted{N: len(s.selected(func(j *job) bool { return s.matches(j, &params.Filter) }))}, nil
}

// WaitingOfKeys implements store.Reader.
func (s *Store) WaitingOfKeys(ctx context.Context, params store.WaitingOfKeysParams) ([]int, error) {
	if _, err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if _, err := lists.NewWaiting(params); err != nil {
		return nil, err
	}
	counts := make([]int, len(params.Keys))
	for i, key := range params.Keys {
		counts[i] = min(params.Most, len(s.selected(func(j *job) bool {
			return j.Namespace == params.Namespace && j.Queue == params.Queue && lists.Waits.Has(j.state) &&
				j.Options.Limit == key.Limit && j.Options.LimitKey == key.Key
		})))
	}
	return counts, nil
}

// matches reports whether a job fits a filter: each line is a field.
func (s *Store) matches(j *job, f *store.Filter) bool {
	none, ended := store.ID{}, j.state.Finished()
	made := time.UnixMilli(int64(j.ID[0])<<40 | int64(j.ID[1])<<32 | int64(j.ID[2])<<24 |
		int64(j.ID[3])<<16 | int64(j.ID[4])<<8 | int64(j.ID[5]))
	return (f.Namespace == "" || f.Namespace == j.Namespace) &&
		among(f.Queues, j.Queue) &&
		among(f.Kinds, j.Kind) &&
		among(f.IDs, j.ID) &&
		among(f.States, j.state) &&
		(len(f.Reasons) == 0 || (j.state == store.Failed || j.state == store.Cancelled) && slices.Contains(f.Reasons, j.reason)) &&
		(len(f.Fingerprints) == 0 || j.state == store.Failed && slices.Contains(f.Fingerprints, j.likeness)) &&
		!slices.ContainsFunc(f.Tags, func(tag string) bool { return !slices.Contains(j.Tags, tag) }) &&
		(len(f.UniqueKey) == 0 || bytes.Equal(f.UniqueKey, j.UniqueKey) && s.holdsKey(j)) &&
		(f.Key == "" || f.Key == j.Options.Key && s.keys[j.Key()].job == j.ID) &&
		(f.Parent == none || f.Parent == j.Parent) &&
		(f.Batch == none || f.Batch == j.Batch) &&
		(!f.NoParent || j.Parent == none) &&
		(f.Root == none || s.descends(j, f.Root)) &&
		(f.LostFrom == 0 || slices.ContainsFunc(j.lost, func(node int64) bool { return node == f.LostFrom })) &&
		within(f.CreatedAfter, f.CreatedBefore, time.Millisecond, made) &&
		(f.RunAfter.IsZero() && f.RunBefore.IsZero() ||
			!ended && !j.due().IsZero() && within(f.RunAfter, f.RunBefore, time.Microsecond, j.due())) &&
		(f.FinishedAfter.IsZero() && f.FinishedBefore.IsZero() ||
			ended && within(f.FinishedAfter, f.FinishedBefore, time.Microsecond, j.finishedAt)) &&
		all(f.Metadata, j.Metadata) &&
		s.valued(j, f) &&
		(len(f.Args) == 0 || j.Codec == 0 && all(f.Args, j.Args))
}

func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// within reports whether a time is in a range whose ends are cut to a unit.
func within(after, before time.Time, unit time.Duration, at time.Time) bool {
	return (after.IsZero() || !at.Before(after.Truncate(unit))) && (before.IsZero() || at.Before(before.Truncate(unit)))
}

// descends reports whether a job is a child of another one, or of one of its descendants.
func (s *Store) descends(j *job, root store.ID) bool {
	for j != nil && j.Parent != (store.ID{}) {
		if j.Parent == root {
			return true
		}
		j = s.jobs[j.Parent]
	}
	return false
}

// all reports whether a document has all that is wanted.
func all(wanted []store.Match, doc []byte) bool {
	for _, m := range wanted {
		names := strings.Split(m.Path, ".")
		if pointer, is := strings.CutPrefix(m.Path, "/"); is {
			names = strings.Split(pointer, "/")
			for i := range names {
				names[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(names[i])
			}
		}
		var v any
		if len(doc) > 0 {
			if !json.Valid(doc) {
				return false
			}
			v = read(doc)
		}
		for _, name := range names {
			switch in := v.(type) {
			case map[string]any:
				v = in[name]
			case []any:
				i, err := strconv.Atoi(name)
				if v = nil; err == nil && strconv.Itoa(i) == name && i >= 0 && i < len(in) {
					v = in[i]
				}
			default:
				v = nil
			}
		}
		if plain(v) != plain(read(m.Value)) {
			return false
		}
	}
	return true
}

func read(doc []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error()
	}
	return v
}

// plain writes a value so that equal ones are written alike: numbers as fractions.
func plain(v any) string {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			return string(v)
		}
		return r.String()
	case []any:
		var list []string
		for _, element := range v {
			list = append(list, plain(element))
		}
		return "[" + strings.Join(list, ",") + "]"
	case map[string]any:
		var list []string
		for name, field := range v {
			list = append(list, strconv.Quote(name)+":"+plain(field))
		}
		slices.Sort(list)
		return "{" + strings.Join(list, ",") + "}"
	default:
		text, _ := json.Marshal(v) //nolint:errchkjson // it was read from JSON
		return string(text)
	}
}
