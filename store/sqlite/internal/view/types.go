package view

import (
	"time"

	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
)

// Verbs are what tells of a database and changes nothing.
type Verbs struct {
	d    *core.Database
	poll time.Duration // how often Watch looks for what others did; negative: never

	awaited *awaited
}

// New returns the verbs of a database.
func New(d *core.Database, poll time.Duration) Verbs { return Verbs{d, poll, &awaited{}} }
