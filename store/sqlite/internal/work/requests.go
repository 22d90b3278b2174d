package work

import (
	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Request is what a person asked of a job.
type Request struct {
	at            int64
	reason, actor string
}

// Requests are what people asked of a job, nil for what they did not.
type Requests struct {
	Cancel, Pause *Request
}

// RequestsOf reads what people asked of a job.
func RequestsOf(t *core.Tx, id store.ID) (asked Requests, err error) {
	s := t.Stmt("requests")
	db.BindID(s, id)
	db.BindID(s, id)
	return asked, db.Each(s, func() error {
		kind := s.ReadInt()
		r := &Request{at: s.ReadInt(), reason: db.ReadOptText(s), actor: db.ReadOptText(s)}
		if kind == db.RequestCancel {
			asked.Cancel = r
		} else {
			asked.Pause = r
		}
		return nil
	})
}

// forget drops what was asked of a job.
func forget(t *core.Tx, id store.ID, asked Requests) error {
	if asked.Cancel != nil {
		if err := deleteCancelRequest(t, id); err != nil {
			return err
		}
	}
	if asked.Pause != nil {
		return deletePauseRequest(t, id)
	}
	return nil
}

// CancelRequests returns the requests to cancel of all jobs.
func CancelRequests(t *core.Tx) ([]store.CancelRequest, error) {
	var requests []store.CancelRequest
	s := t.Stmt("cancel_requests")
	return requests, db.Each(s, func() error {
		requests = append(requests, store.CancelRequest{
			Job: db.ReadID(s), At: db.ReadTime(s), Reason: db.ReadOptText(s), Actor: db.ReadOptText(s),
		})
		return nil
	})
}

func deleteCancelRequest(t *core.Tx, id store.ID) error {
	s := t.Stmt("cancel_request_delete")
	db.BindID(s, id)
	return db.Exec(s)
}

// PauseRequests returns the jobs that people asked to pause.
func PauseRequests(t *core.Tx) ([]store.ID, error) {
	var jobs []store.ID
	s := t.Stmt("pause_requests")
	return jobs, db.Each(s, func() error {
		jobs = append(jobs, db.ReadID(s))
		return nil
	})
}

func deletePauseRequest(t *core.Tx, id store.ID) error {
	s := t.Stmt("pause_request_delete")
	db.BindID(s, id)
	return db.Exec(s)
}
