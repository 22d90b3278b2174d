package sqlite

import (
	"github.com/holdfastdev/holdfast/store"
)

// request is what a person asked of a job.
type request struct {
	at            int64
	reason, actor string
}

// requests are what people asked of a job, nil for what they did not.
type requests struct {
	cancel, pause *request
}

// requests reads what people asked of a job.
func (t *tx) requests(id store.ID) (asked requests, err error) {
	s := t.stmt("requests")
	bindID(s, id)
	bindID(s, id)
	return asked, each(s, func() error {
		kind := s.readInt()
		r := &request{at: s.readInt(), reason: readOptText(s), actor: readOptText(s)}
		if kind == requestCancel {
			asked.cancel = r
		} else {
			asked.pause = r
		}
		return nil
	})
}

// forget drops what was asked of a job.
func (t *tx) forget(id store.ID, asked requests) error {
	if asked.cancel != nil {
		if err := t.deleteCancelRequest(id); err != nil {
			return err
		}
	}
	if asked.pause != nil {
		return t.deletePauseRequest(id)
	}
	return nil
}

// cancelRequests returns the requests to cancel of all jobs.
func (t *tx) cancelRequests() ([]store.CancelRequest, error) {
	var requests []store.CancelRequest
	s := t.stmt("cancel_requests")
	return requests, each(s, func() error {
		requests = append(requests, store.CancelRequest{
			Job: readID(s), At: readTime(s), Reason: readOptText(s), Actor: readOptText(s),
		})
		return nil
	})
}

func (t *tx) deleteCancelRequest(id store.ID) error {
	s := t.stmt("cancel_request_delete")
	bindID(s, id)
	return exec(s)
}

// pauseRequests returns the jobs that people asked to pause.
func (t *tx) pauseRequests() ([]store.ID, error) {
	var jobs []store.ID
	s := t.stmt("pause_requests")
	return jobs, each(s, func() error {
		jobs = append(jobs, readID(s))
		return nil
	})
}

func (t *tx) deletePauseRequest(id store.ID) error {
	s := t.stmt("pause_request_delete")
	bindID(s, id)
	return exec(s)
}
