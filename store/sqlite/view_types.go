package sqlite

import "time"

// viewVerbs are what tells of a database and changes nothing.
type viewVerbs struct {
	d    *database
	poll time.Duration // how often Watch looks for what others did; negative: never
}

// newView returns the verbs of a database.
func newView(d *database, poll time.Duration) viewVerbs { return viewVerbs{d, poll} }
