package crashtest

import "github.com/holdfastdev/holdfast"

// transactions checks that a StepTx has written its row exactly once: the journal has the step if
// and only if the table has the row, both of the same lease.
func (v *flowVerifier) transactions(j *flowJob) {
	type written struct {
		gen  int
		step string
	}
	rows := map[written][]row{}
	for _, r := range j.rows {
		v.figures.rows++
		rows[written{r.gen, r.step}] = append(rows[written{r.gen, r.step}], r)
	}
	entries := map[string]holdfast.JournalEntry{}
	for _, e := range j.journal.Entries {
		if e.Kind == "step" {
			entries[e.Name] = e
		}
	}
	for at, list := range rows {
		if len(list) > 1 {
			v.wrongf(exactlyOnce, j.ID, "%s of generation %d has written %d rows: %+v", at.step, at.gen, len(list), list)
		}
		if e, ok := entries[at.step]; at.gen == j.Gen && (!ok || e.Lease != list[0].lease) {
			v.wrongf(exactlyOnce, j.ID, "%s has written %+v, the journal has %+v", at.step, list[0], e)
		}
	}
	for _, o := range leaves(j.Ops) {
		for gen := j.firstGen(); gen < j.Gen && o.Do == opRow; gen++ {
			if len(rows[written{gen, o.name()}]) == 0 {
				v.wrongf(exactlyOnce, j.ID, "%s of generation %d, which is over, has written no row", o.name(), gen)
			}
		}
		e, ok := entries[o.name()]
		if o.Do == opRow && ok && e.Lease > 0 && len(rows[written{j.Gen, o.name()}]) == 0 {
			v.wrongf(exactlyOnce, j.ID, "%s is in the journal, under lease %d, and has written no row", o.name(), e.Lease)
		}
	}
}

// firstGen is the first generation that a job has done the whole of. Of the one that a fork was
// made in some of the rows are another job's.
func (j *flowJob) firstGen() int {
	switch {
	case j.fork == nil:
		return 0
	case len(j.traces) == 0:
		return j.Gen
	}
	return j.traces[0].Gen + 1
}
