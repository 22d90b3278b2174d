package move

import (
	"context"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// updateRow is a request to a job, with its answer if it has a verdict.
type updateRow struct {
	ID          store.ID `json:"id"`
	Seq         int64    `json:"seq"`
	At          int64    `json:"at"`
	AnsweredAt  *int64   `json:"answered_at"`
	Codec       int      `json:"codec"`
	AnswerCodec *int     `json:"answer_codec"`
	Verdict     *int16   `json:"verdict"`
	Key         string   `json:"key"`
	Name        string   `json:"name"`
	Error       *string  `json:"error"`
	Data        *string  `json:"data"`
	Answer      *string  `json:"answer"`
}

// updatesOf are the requests that rows say.
func updatesOf(rows []updateRow) (list []store.Update, err error) {
	for i := range rows {
		r := &rows[i]
		u := store.Update{Seq: r.Seq, Key: r.Key, Name: r.Name, Codec: r.Codec, At: pg.TimeOf(r.At)}
		if u.Data, err = bytesOf(r.Data); err != nil {
			return nil, err
		}
		if r.Verdict != nil {
			a := store.UpdateAnswer{Seq: r.Seq, Verdict: store.UpdateVerdict(*r.Verdict), Error: pg.TextOf(r.Error), At: pg.OptTime(r.AnsweredAt)}
			if r.AnswerCodec != nil {
				a.Codec = *r.AnswerCodec
			}
			if a.Data, err = bytesOf(r.Answer); err != nil {
				return nil, err
			}
			u.Answer = &a
		}
		list = append(list, u)
	}
	return list, nil
}

func (t *tables) addUpdates(w *store.Whole) {
	for i := range w.Updates {
		u := &w.Updates[i]
		row := updateRow{ID: w.ID, Seq: u.Seq, At: u.At.UnixMicro(), Codec: u.Codec, Key: u.Key, Name: u.Name, Data: hexOf(u.Data)}
		if a := u.Answer; a != nil {
			verdict := int16(a.Verdict)
			row.AnsweredAt, row.AnswerCodec, row.Verdict = pg.OptMicros(a.At), &a.Codec, &verdict
			row.Error, row.Answer = textOf(a.Error), hexOf(a.Data)
		}
		t.updates = append(t.updates, row)
	}
}

// putUpdates writes requests, and lets later ones have greater numbers.
func putUpdates(ctx context.Context, t pg.Session, rows []updateRow) error {
	if len(rows) == 0 {
		return nil
	}
	if err := putRows(ctx, t, "copy_updates_put", rows); err != nil {
		return err
	}
	last := int64(0)
	for i := range rows {
		last = max(last, rows[i].Seq)
	}
	return t.Run(ctx, "copy_updates_begin", nil, last)
}
