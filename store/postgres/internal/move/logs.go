package move

import "github.com/holdfastdev/holdfast/store"

// logsOf are the chunks that the rows of a job say.
func logsOf(job store.ID, rows []logRow) (list []store.LogChunk, err error) {
	for i := range rows {
		r := &rows[i]
		c := store.LogChunk{Job: job, Lease: r.Lease, First: r.First, Attempt: r.Attempt, Count: r.Count}
		if c.Lines, err = bytesOf(r.Lines); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
