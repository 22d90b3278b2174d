//go:build soak

package workers_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestStartsHearOfLimits: a limit that is made while polls wait holds for what starts by them.
func TestStartsHearOfLimits(t *testing.T) {
	t.Parallel()
	onBoth(t, func(s, _ *apitest.Server) {
		var answers []<-chan []job
		for range 3 {
			answers = append(answers, register(s, mail).waiting(1, "14s"))
		}
		time.Sleep(500 * time.Millisecond) //nolint:forbidigo // nothing tells that polls wait
		s.OK(201, http.MethodPut, "/limits/one", `{"capacity":1,"kinds":{"mail":1}}`)
		time.Sleep(4 * time.Second) //nolint:forbidigo // twice as long as a node may take to hear of it
		for range 3 {
			s.Enqueue(job{"kind": "mail"})
		}
		n := 0
		for _, answer := range answers {
			n += len(<-answer)
		}
		if n != 1 {
			s.Errorf("%d jobs run at once", n)
		}
	})
}
