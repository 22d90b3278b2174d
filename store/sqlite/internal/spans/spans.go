// Package spans keeps where lanes have bodies, for lists: in which buckets of ids (lists.Bucket).
// The triggers of migration 44 add what is new; here is what the file says of them, how bodies from
// before that migration get theirs, and how those go that have no bodies any more.
package spans

import (
	"context"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/lists"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// filledAtOnce is how many bodies from before migration 44 get their spans in one transaction.
const filledAtOnce = 2000

// From returns from which id on bodies have their spans, and whether there may be others.
func From(t *core.Tx) (from store.ID, others bool, err error) {
	s := t.Stmt("spans_from")
	if others, err = s.Next(); err != nil || !others {
		return from, false, err
	}
	defer s.Done()
	text := s.ReadText()
	if n, err := hex.Decode(from[:], []byte(text)); err != nil || n != len(from) {
		return from, true, fmt.Errorf("%w: spans_from is %q, which is no id", store.ErrInvalid, text)
	}
	return from, true, nil
}

// nameOf is what stands for a bucket in the file.
func nameOf(b lists.Bucket) string { return fmt.Sprintf("%011X", int64(b)) }

// In returns the next n buckets of a lane within a range, in an order by id.
func In(t *core.Tx, lane int64, s store.Sort, r lists.Range, n int) ([]lists.Bucket, error) {
	name := "spans_oldest"
	if s == store.SortNewest {
		name = "spans_newest"
	}
	first, last := r.Buckets()
	return read(t, name, lane, nameOf(first), nameOf(last), n)
}

func read(t *core.Tx, name string, lane int64, first, last string, n int) (buckets []lists.Bucket, err error) {
	s := t.Stmt(name)
	s.BindInt(lane)
	s.BindText(first)
	s.BindText(last)
	s.BindInt(int64(n))
	return buckets, db.Each(s, func() error {
		text := s.ReadText()
		b, err := strconv.ParseInt(text, 16, 64)
		if err != nil {
			return fmt.Errorf("%w: a lane has the span %q, which is none", store.ErrInvalid, text)
		}
		buckets = append(buckets, lists.Bucket(b))
		return nil
	})
}

// Fill gives some bodies from before migration 44 their spans, the newest first, and tells whether
// there are more. With a limit of 0 it only looks. What it does counts as the removal of a tenth of
// as many jobs.
func Fill(ctx context.Context, d *core.Database, limit int) (done int, more bool, err error) {
	err = d.WriteIf(ctx, "remove old jobs",
		func(t *core.Tx) (bool, error) {
			done = 0
			_, more, err = From(t)
			return more && limit > 0, err
		},
		func(t *core.Tx) error {
			from, there, err := From(t)
			if done, more = 0, false; err != nil || !there {
				return err
			}
			looked, last, err := fillBefore(t, from)
			if err != nil {
				return err
			}
			done = filledAtOnce / 10
			if more = looked == filledAtOnce; !more {
				return db.Exec(t.Stmt("spans_from_done"))
			}
			s := t.Stmt("spans_from_set")
			s.BindText(hex.EncodeToString(last[:]))
			return db.Exec(s)
		})
	return done, more, err
}

// fillBefore gives the last bodies before an id their spans.
func fillBefore(t *core.Tx, from store.ID) (looked int, last store.ID, err error) {
	type span struct {
		lane   int64
		bucket lists.Bucket
	}
	found := map[span]bool{}
	s := t.Stmt("span_bodies")
	db.BindID(s, from)
	s.BindInt(filledAtOnce)
	err = db.Each(s, func() error {
		last = db.ReadID(s)
		found[span{s.ReadInt(), lists.BucketOf(last)}] = true
		looked++
		return nil
	})
	if err != nil {
		return 0, last, err
	}
	for one := range found {
		s := t.Stmt("span_add")
		s.BindInt(one.lane)
		s.BindText(nameOf(one.bucket))
		if err := db.Exec(s); err != nil {
			return 0, last, err
		}
	}
	return looked, last, nil
}
