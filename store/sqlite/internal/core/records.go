package core

import (
	"encoding/binary"
	"math/bits"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Scan reads the columns after the name.
func (r *ClaimRecord) Scan(s db.Stmt) {
	r.Exists = true
	r.ClaimedAt, r.Done, r.All = s.ReadInt(), s.ReadInt(), s.ReadInt()
	r.wasDone = r.Done
	r.ids, r.leases, r.gates = s.ReadBlob(), db.ReadOptBlob(s), db.ReadOptBlob(s)
}

// Slots returns how many jobs the record was written with.
func (r *ClaimRecord) Slots() int { return len(r.ids) / len(store.ID{}) }

// Runs reports whether the job in a slot is still running.
func (r *ClaimRecord) Runs(slot int) bool {
	return slot >= 0 && slot < r.Slots() && r.All&^r.Done&(1<<slot) != 0
}

// Job returns the job in a slot.
func (r *ClaimRecord) Job(slot int) store.ID {
	return store.ID(r.ids[slot*len(store.ID{}):][:len(store.ID{})])
}

// Lease returns the lease of a slot.
func (r *ClaimRecord) Lease(slot int) store.Lease {
	number := int64(1)
	if r.leases != nil {
		number = int64(binary.BigEndian.Uint64(r.leases[8*slot:]))
	}
	return store.Lease{Job: r.Job(slot), Number: number, Node: r.Node, Claim: r.Seq, Slot: slot}
}

// Holds reports whether a lease is live: the fence of every write by a run.
func (r *ClaimRecord) Holds(l store.Lease) bool {
	return r.Exists && r.Runs(l.Slot) && r.Lease(l.Slot) == l
}

// Finish marks a slot as done. The record is written at the end of the transaction.
func (r *ClaimRecord) Finish(slot int) {
	r.Done |= 1 << slot
	r.changed = true
}

// Running is the number of jobs that still run.
func Running(done, all int64) int { return bits.OnesCount64(uint64(all &^ done)) }

// Record returns a claim record as this transaction sees it, its own changes included.
func (t *Tx) Record(name RecordName) (*ClaimRecord, error) {
	if t.last != nil && t.last.RecordName == name {
		return t.last, nil
	}
	r, ok := t.records[name]
	if !ok {
		r = &ClaimRecord{RecordName: name}
		s := t.Stmt("claim")
		s.BindInt(name.Node)
		s.BindInt(name.Seq)
		found, err := s.Next()
		if err != nil {
			return nil, err
		}
		if found {
			r.Scan(s)
			s.Done()
		}
		t.remember(r)
	}
	t.last = r
	return r, nil
}

func (t *Tx) remember(r *ClaimRecord) {
	if t.records == nil {
		t.records = map[RecordName]*ClaimRecord{}
	}
	t.records[r.RecordName] = r
}

// RecordsOf reads all claim records of a node.
func (t *Tx) RecordsOf(node int64) ([]*ClaimRecord, error) {
	var records []*ClaimRecord
	s := t.Stmt("claims_of_node")
	s.BindInt(node)
	err := db.Each(s, func() error {
		r := &ClaimRecord{RecordName: RecordName{node, s.ReadInt()}}
		r.Scan(s)
		records = append(records, r)
		t.remember(r)
		return nil
	})
	return records, err
}

// WriteRecords writes the records whose slots are done; one that is done as a whole is deleted.
func (t *Tx) WriteRecords() error {
	for _, r := range t.records {
		if !r.changed {
			continue
		}
		if r.gates != nil {
			t.touchGates(r)
		}
		var s db.Stmt
		if r.Done == r.All {
			s = t.Stmt("claim_delete")
		} else {
			s = t.Stmt("claim_update")
			s.BindInt(r.Done)
		}
		s.BindInt(r.Node)
		s.BindInt(r.Seq)
		if err := db.Exec(s); err != nil {
			return err
		}
		r.changed, r.wasDone = false, r.Done
	}
	return nil
}

// RunningJobs finds where all jobs run.
func (t *Tx) RunningJobs() (RunningJobs, error) {
	found := RunningJobs{}
	s := t.Stmt("claims_all")
	return found, db.Each(s, func() error {
		r := &ClaimRecord{RecordName: RecordName{s.ReadInt(), s.ReadInt()}}
		r.Scan(s)
		found.Add(r)
		return nil
	})
}

// Add adds the runs of a record that have not ended.
func (f RunningJobs) Add(r *ClaimRecord) {
	for slot := range r.Slots() {
		if r.Runs(slot) {
			f[r.Job(slot)] = RunningJob{r.Lease(slot), r.ClaimedAt}
		}
	}
}

// RunningJob finds where one job runs.
func (t *Tx) RunningJob(id store.ID) (job RunningJob, found bool, err error) {
	s := t.Stmt("claims_with")
	db.BindID(s, id)
	err = db.Each(s, func() error {
		r := &ClaimRecord{RecordName: RecordName{s.ReadInt(), s.ReadInt()}}
		r.Scan(s)
		for slot := range r.Slots() { // instr also finds the bytes where two ids meet
			if r.Runs(slot) && r.Job(slot) == id {
				job, found = RunningJob{r.Lease(slot), r.ClaimedAt}, true
			}
		}
		return nil
	})
	return job, found, err
}

// RunningByQueue counts the running jobs of each queue. Claim records do not tell the queue, the
// bodies do.
func (t *Tx) RunningByQueue() (map[int64]int, error) {
	runs, err := t.RunningJobs()
	if err != nil {
		return nil, err
	}
	counts := map[int64]int{}
	for id := range runs {
		s := t.Stmt("job_lane")
		db.BindID(s, id)
		found, err := s.Next()
		if err != nil {
			return nil, err
		}
		if !found {
			continue
		}
		lane := s.ReadInt()
		s.Done()
		l, err := t.LaneOf(lane)
		if err != nil {
			return nil, err
		}
		counts[l.Queue]++
	}
	return counts, nil
}
