package sqlite

import (
	"encoding/binary"
	"math/bits"

	"github.com/holdfastdev/holdfast/store"
)

// scan reads the columns after the name.
func (r *claimRecord) scan(s stmt) {
	r.exists = true
	r.claimedAt, r.done, r.all = s.readInt(), s.readInt(), s.readInt()
	r.ids, r.leases = s.readBlob(), readOptBlob(s)
}

// slots returns how many jobs the record was written with.
func (r *claimRecord) slots() int { return len(r.ids) / len(store.ID{}) }

// runs reports whether the job in a slot is still running.
func (r *claimRecord) runs(slot int) bool {
	return slot >= 0 && slot < r.slots() && r.all&^r.done&(1<<slot) != 0
}

// job returns the job in a slot.
func (r *claimRecord) job(slot int) store.ID {
	return store.ID(r.ids[slot*len(store.ID{}):][:len(store.ID{})])
}

// lease returns the lease of a slot.
func (r *claimRecord) lease(slot int) store.Lease {
	number := int64(1)
	if r.leases != nil {
		number = int64(binary.BigEndian.Uint64(r.leases[8*slot:]))
	}
	return store.Lease{Job: r.job(slot), Number: number, Node: r.node, Claim: r.seq, Slot: slot}
}

// holds reports whether a lease is live: the fence of every write by a run.
func (r *claimRecord) holds(l store.Lease) bool {
	return r.exists && r.runs(l.Slot) && r.lease(l.Slot) == l
}

// finish marks a slot as done. The record is written when the transaction settles.
func (r *claimRecord) finish(slot int) {
	r.done |= 1 << slot
	r.changed = true
}

// running is the number of jobs that still run.
func running(done, all int64) int { return bits.OnesCount64(uint64(all &^ done)) }

// record returns a claim record as this transaction sees it, its own changes included.
func (t *tx) record(name recordName) (*claimRecord, error) {
	if t.last != nil && t.last.recordName == name {
		return t.last, nil
	}
	r, ok := t.records[name]
	if !ok {
		r = &claimRecord{recordName: name}
		s := t.stmt("claim")
		s.bindInt(name.node)
		s.bindInt(name.seq)
		found, err := s.next()
		if err != nil {
			return nil, err
		}
		if found {
			r.scan(s)
			s.done()
		}
		t.remember(r)
	}
	t.last = r
	return r, nil
}

func (t *tx) remember(r *claimRecord) {
	if t.records == nil {
		t.records = map[recordName]*claimRecord{}
	}
	t.records[r.recordName] = r
}

// recordsOf reads all claim records of a node.
func (t *tx) recordsOf(node int64) ([]*claimRecord, error) {
	var records []*claimRecord
	s := t.stmt("claims_of_node")
	s.bindInt(node)
	err := each(s, func() error {
		r := &claimRecord{recordName: recordName{node, s.readInt()}}
		r.scan(s)
		records = append(records, r)
		t.remember(r)
		return nil
	})
	return records, err
}

// writeRecords writes the records whose slots are done; one that is done as a whole is deleted.
func (t *tx) writeRecords() error {
	for _, r := range t.records {
		if !r.changed {
			continue
		}
		var s stmt
		if r.done == r.all {
			s = t.stmt("claim_delete")
		} else {
			s = t.stmt("claim_update")
			s.bindInt(r.done)
		}
		s.bindInt(r.node)
		s.bindInt(r.seq)
		if err := exec(s); err != nil {
			return err
		}
		r.changed = false
	}
	return nil
}

// runningJobs finds where all jobs run.
func (t *tx) runningJobs() (runningJobs, error) {
	found := runningJobs{}
	s := t.stmt("claims_all")
	return found, each(s, func() error {
		r := &claimRecord{recordName: recordName{s.readInt(), s.readInt()}}
		r.scan(s)
		found.add(r)
		return nil
	})
}

// add adds the runs of a record that have not ended.
func (f runningJobs) add(r *claimRecord) {
	for slot := range r.slots() {
		if r.runs(slot) {
			f[r.job(slot)] = runningJob{r.lease(slot), r.claimedAt}
		}
	}
}

// runningJob finds where one job runs.
func (t *tx) runningJob(id store.ID) (job runningJob, found bool, err error) {
	s := t.stmt("claims_with")
	bindID(s, id)
	err = each(s, func() error {
		r := &claimRecord{recordName: recordName{s.readInt(), s.readInt()}}
		r.scan(s)
		for slot := range r.slots() { // instr also finds the bytes where two ids meet
			if r.runs(slot) && r.job(slot) == id {
				job, found = runningJob{r.lease(slot), r.claimedAt}, true
			}
		}
		return nil
	})
	return job, found, err
}
