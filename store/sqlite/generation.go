package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// A job that continues as new may leave behind tens of thousands of rows. They are not removed in the
// transaction that ends its run, for which everybody else who writes would wait: the entry with which
// it starts over says from where on its journal and its inbox count, and what is before is hidden, and
// removed bit by bit (see leftover.go). What the job has published and streamed before stays, for those
// who ask for it.

// continueAsNew makes a job whose run has ended start over: of its journal it remembers nothing but that it
// has continued, and of its messages only the signals that no entry has received.
func (t *tx) continueAsNew(b *body, again *store.Continue) error {
	g, err := t.generation(b.ID)
	if err != nil {
		return err
	}
	last, err := t.lastEntry(b.ID)
	if err != nil {
		return err
	}
	next := generation{first: last + 1}
	if next.sent, err = t.keepUnread(b.ID, g); err != nil {
		return err
	}
	e := &store.Entry{Seq: next.first, Kind: store.EntryContinued, Ref: next.sent, Data: again.Data}
	if _, err := t.insertEntry(b.ID, b.LeaseNumber, e); err != nil {
		return err
	}
	if err := t.leaveBehind(b.ID, g, next); err != nil {
		return err
	}
	if b.Attempt = 0; b.Closing {
		if err := t.reopenEnd(b); err != nil {
			return err
		}
	}
	s := t.stmt("job_continue")
	bindPayload(s, again.Args)
	s.bindInt(int64(again.Codec))
	bindID(s, b.ID)
	return exec(s)
}

// keepUnread lets the signals that no entry of a generation has received be the first messages of the
// next one, and returns from which row on its messages are counted. As a rule they are the last rows,
// and stay where they are; else they move behind all others.
func (t *tx) keepUnread(id store.ID, g generation) (sent int64, err error) {
	last, err := t.newestMessage(id, g)
	if err != nil || last == g.sent {
		return last, err
	}
	unread, err := t.unread(id, g)
	if n := int64(len(unread)); err != nil || n == 0 || unread[0] == last-n+1 {
		return last - n, err
	}
	for i, row := range unread {
		s := t.stmt("inbox_renumber")
		s.bindInt(last + int64(i) + 1)
		bindID(s, id)
		s.bindInt(row)
		if err := exec(s); err != nil {
			return 0, err
		}
	}
	return last, nil
}

// newestMessage is the row of the last message of a generation, or of the last one before it.
func (t *tx) newestMessage(id store.ID, g generation) (row int64, err error) {
	s := t.stmt("inbox_last")
	bindID(s, id)
	if found, err := s.next(); err != nil || !found {
		return 0, unexpected("inbox_last", err)
	}
	defer s.done()
	return max(readOptInt(s), g.sent), nil
}

// unread lists the rows of signals that no entry of a generation has received. Two indexes tell which
// messages are left, of which only those that are signals are looked up.
func (t *tx) unread(id store.ID, g generation) (rows []int64, err error) {
	received := map[int64]bool{}
	s := t.stmt("received")
	bindID(s, id)
	s.bindInt(g.first)
	err = each(s, func() error {
		received[g.sent+s.readInt()] = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	var left []int64
	s = t.stmt("inbox_rows")
	bindID(s, id)
	s.bindInt(g.sent)
	err = each(s, func() error {
		if row := s.readInt(); !received[row] {
			left = append(left, row)
		}
		return nil
	})
	for _, row := range left {
		s := t.stmt("inbox_is_signal")
		bindID(s, id)
		s.bindInt(row)
		signal, err := exists(s)
		if err != nil {
			return nil, err
		}
		if signal {
			rows = append(rows, row)
		}
	}
	return rows, err
}
