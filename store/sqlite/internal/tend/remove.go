package tend

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/generations"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// ofJob are the statements that remove what belongs to a finished job, in all tables but those of
// what it remembers, and its body last. Each takes the id of the job. What people did to it stays
// as long as it is to be, and is not told any more.
var ofJob = []string{
	"retain_attempts", "retain_log", "retain_attributes", "retain_checkpoint",
	"cancel_request_delete", "pause_request_delete", "finished_delete",
	"audit_gone", "job_delete",
}

// remove deletes a finished job with everything that belongs to it, and returns how many rows that
// was. The keys go before the body and the end that say what becomes of them. It is what retention
// does, and what people do: a table that belongs to jobs has its statement here, and nowhere else.
func remove(t *core.Tx, id store.ID) (rows int64, err error) {
	s := t.Stmt("retain_unique_key")
	db.BindID(s, id)
	db.BindID(s, id)
	if err := db.Exec(s); err != nil {
		return 0, err
	}
	if err := keys.Leave(t, id); err != nil {
		return 0, err
	}
	for _, name := range ofJob {
		s := t.Stmt(name)
		db.BindID(s, id)
		n, err := s.Exec()
		if err != nil {
			return 0, err
		}
		rows += n
	}
	n, err := generations.RemoveAll(t, id)
	return rows + n, err
}
