package sqlite

// workVerbs are what nodes and callers do to jobs.
type workVerbs struct{ d *database }

// newWork returns the verbs of a database.
func newWork(d *database) workVerbs { return workVerbs{d} }
