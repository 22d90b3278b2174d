package sealed

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// Journals implements store.Journals.
func (s *Store) Journals(ctx context.Context, namespace string, ids []store.ID) ([]store.Journal, error) {
	journals, err := s.Store.Journals(ctx, namespace, ids)
	s.reading(ctx, err, func(o *opening) {
		for i := range journals {
			o.journal(namespace, &journals[i])
		}
	})
	return journals, err
}

func (o *opening) journal(namespace string, j *store.Journal) {
	o.slots = slices.Grow(o.slots, len(j.Entries)+len(j.Messages))
	o.entries(namespace, j.Entries)
	o.messages(namespace, j.Messages)
}

// Entries implements store.Journals.
func (s *Store) Entries(ctx context.Context, params store.JournalParams) ([]store.Entry, error) {
	entries, err := s.Store.Entries(ctx, params)
	s.reading(ctx, err, func(o *opening) { o.entries(params.Namespace, entries) })
	return entries, err
}

// Messages implements store.Journals.
func (s *Store) Messages(ctx context.Context, params store.InboxParams) ([]store.Message, error) {
	messages, err := s.Store.Messages(ctx, params)
	s.reading(ctx, err, func(o *opening) { o.messages(params.Namespace, messages) })
	return messages, err
}

// OpenUpdates implements store.Updates.
func (s *Store) OpenUpdates(ctx context.Context, of []store.UpdatesAfter) ([][]store.Update, error) {
	updates, err := s.Store.OpenUpdates(ctx, of)
	s.reading(ctx, err, func(o *opening) {
		for _, list := range updates {
			for i := range list {
				o.update("", &list[i])
			}
		}
	})
	return updates, err
}

// GetUpdate implements store.Updates.
func (s *Store) GetUpdate(ctx context.Context, namespace string, job store.ID, key string) (store.Update, error) {
	update, err := s.Store.GetUpdate(ctx, namespace, job, key)
	s.reading(ctx, err, func(o *opening) { o.update(namespace, &update) })
	return update, err
}

// KeepLogs implements store.Logs.
func (s *Store) KeepLogs(ctx context.Context, chunks []store.LogChunk) error {
	if err := store.CheckLogs(chunks); err != nil {
		return err
	}
	chunks = slices.Clone(chunks)
	return s.writing(ctx, func(seals *sealing) {
		for i := range chunks {
			seals.slots = append(seals.slots, slot{purpose: store.PurposeLog, data: &chunks[i].Lines, wasData: chunks[i].Lines})
		}
	}, func() error { return s.Store.KeepLogs(ctx, chunks) })
}

// Logs implements store.Logs.
func (s *Store) Logs(ctx context.Context, params store.LogParams) ([]store.LogChunk, error) {
	chunks, err := s.Store.Logs(ctx, params)
	s.reading(ctx, err, func(o *opening) {
		for i := range chunks {
			o.addLog(params.Namespace, &chunks[i].Lines)
		}
	})
	return chunks, err
}

// SaveSchedule implements store.Schedules. Args that stay what they are stay as they are stored:
// sealed again they would be other bytes, and the audit would say that they have changed.
func (s *Store) SaveSchedule(ctx context.Context, sc store.Schedule, expect int64, actor string) (saved store.Schedule, err error) {
	was, err := s.argsOf(ctx, &sc, expect)
	if err != nil {
		return store.Schedule{}, err
	}
	err = s.writing(ctx, func(seals *sealing) {
		seals.args(&sc.Job.Args, &sc.Job.Codec, sc.Namespace, false)
		seals.addText(store.PurposeDeclared, sc.Namespace, &sc.Declared)
	}, func() (err error) {
		if isUnderKeyOf(was, sc.Job.Args) {
			sc.Job.Args = was
		}
		saved, err = s.Store.SaveSchedule(ctx, sc, expect, actor)
		return err
	})
	s.reading(ctx, err, func(o *opening) { o.schedule(&saved) })
	return saved, err
}

// argsOf are the args of the schedule that is to be replaced, as they are stored, if those that
// replace them are the same; nil: they are not.
func (s *Store) argsOf(ctx context.Context, sc *store.Schedule, expect int64) ([]byte, error) {
	if expect == 0 {
		return nil, nil
	}
	stored, err := s.Store.Schedules(ctx, store.ScheduleFilter{Namespace: sc.Namespace, Name: sc.Name, Limit: 1})
	if err != nil || len(stored) == 0 || stored[0].Version != expect {
		return nil, err // what is not there, or another version, is the store's to refuse
	}
	was := stored[0].Job.Args
	s.reading(ctx, nil, func(o *opening) { o.schedule(&stored[0]) })
	if !bytes.Equal(stored[0].Job.Args, sc.Job.Args) || stored[0].Job.Codec != sc.Job.Codec {
		return nil, nil
	}
	return was, nil
}

// isUnderKeyOf reports whether two payloads are sealed with the same key.
func isUnderKeyOf(a, b []byte) bool {
	x, is := store.ParseEnvelope(a)
	y, too := store.ParseEnvelope(b)
	return is && too && x.Key == y.Key
}

func (o *opening) schedule(sc *store.Schedule) {
	o.add(store.PurposeArgs, sc.Namespace, &sc.Job.Args, &sc.Job.Codec)
	o.addText(store.PurposeDeclared, sc.Namespace, &sc.Declared)
}

func (o *opening) schedules(list []store.Schedule) {
	for i := range list {
		o.schedule(&list[i])
	}
}

// Schedules implements store.Schedules.
func (s *Store) Schedules(ctx context.Context, filter store.ScheduleFilter) ([]store.Schedule, error) {
	list, err := s.Store.Schedules(ctx, filter)
	s.reading(ctx, err, func(o *opening) { o.schedules(list) })
	return list, err
}

// DueSchedules implements store.Schedules.
func (s *Store) DueSchedules(ctx context.Context, limit int) (due []store.Schedule, next time.Time, err error) {
	due, next, err = s.Store.DueSchedules(ctx, limit)
	s.reading(ctx, err, func(o *opening) { o.schedules(due) })
	return due, next, err
}

// CreateBatch implements store.JobBatches.
func (s *Store) CreateBatch(ctx context.Context, tx store.Tx, b store.JobBatch) error {
	b.Calls = slices.Clone(b.Calls)
	return s.writing(ctx, func(seals *sealing) {
		for i := range b.Calls {
			seals.args(&b.Calls[i].Job.Args, &b.Calls[i].Job.Codec, b.Namespace, false)
		}
	}, func() error { return s.Store.CreateBatch(ctx, tx, b) })
}

func (o *opening) batches(list []store.JobBatch) {
	for i := range list {
		b := &list[i]
		for c := range b.Calls {
			o.add(store.PurposeArgs, b.Namespace, &b.Calls[c].Job.Args, &b.Calls[c].Job.Codec)
		}
	}
}

// Batches implements store.JobBatches.
func (s *Store) Batches(ctx context.Context, filter store.BatchFilter) ([]store.JobBatch, error) {
	list, err := s.Store.Batches(ctx, filter)
	s.reading(ctx, err, func(o *opening) { o.batches(list) })
	return list, err
}

// CountBatches implements store.JobBatches.
func (s *Store) CountBatches(ctx context.Context, params store.CountBatchesParams) (store.CountedBatches, error) {
	counted, err := s.Store.CountBatches(ctx, params)
	s.reading(ctx, err, func(o *opening) { o.batches(counted.Through) })
	return counted, err
}
