package sqlite

import "github.com/holdfastdev/holdfast/store"

// beginAnew makes a job whose run has ended begin anew: nothing of its journal stays but that it has continued, and of its
// messages only the signals that no entry has received.
func (t *tx) beginAnew(b *body, again *store.Continue) error {
	s := t.stmt("inbox_forget")
	bindID(s, b.ID)
	bindID(s, b.ID)
	if err := exec(s); err != nil {
		return err
	}
	if err := t.renumberInbox(b.ID); err != nil {
		return err
	}
	if err := t.trim(b.ID, 0); err != nil {
		return err
	}
	if _, err := t.insertEntry(b.ID, b.LeaseNumber, &store.Entry{Seq: 1, Kind: store.EntryContinued, Data: again.Data}); err != nil {
		return err
	}
	if b.Attempt = 0; b.Closing {
		if err := t.reopenEnd(b); err != nil {
			return err
		}
	}
	s = t.stmt("job_continue")
	bindPayload(s, again.Args)
	s.bindInt(int64(again.Codec))
	bindID(s, b.ID)
	return exec(s)
}

// renumberInbox numbers messages from 1 again, in their order.
func (t *tx) renumberInbox(id store.ID) error {
	var seqs []int64
	s := t.stmt("inbox_after")
	bindID(s, id)
	s.bindInt(0)
	err := each(s, func() error {
		seqs = append(seqs, s.readInt())
		return nil
	})
	if err != nil {
		return err
	}
	for i, seq := range seqs {
		if seq == int64(i)+1 {
			continue
		}
		s := t.stmt("inbox_renumber")
		s.bindInt(int64(i) + 1)
		bindID(s, id)
		s.bindInt(seq)
		if err := exec(s); err != nil {
			return err
		}
	}
	return nil
}
