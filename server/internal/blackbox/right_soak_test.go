//go:build soak

package blackbox

import (
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/api"
)

// TestRight: the examples of the document are answered as they say, one after the other, and each
// operation that has no test of its own is among them.
func TestRight(t *testing.T) {
	onBoth(t, func(s *server) {
		admin, id := s.key("admin", "--role", "admin")
		recorded := newRecorder(s, admin, "key "+id+" (admin)")
		doc, all := s.document(admin)
		known := map[string]*operation{}
		for _, op := range all {
			known[op.ID] = op
		}
		steps, err := api.Examples()
		if err != nil {
			t.Fatal(err)
		}
		kept, told := map[string]string{}, map[string]bool{}
		for i := range steps {
			step := &steps[i]
			op := known[step.Op]
			if op == nil {
				t.Fatalf("there is no operation %s", step.Op)
			}
			told[step.Op] = true
			a := s.do(op.example(admin, step, kept))
			if a.status != step.Status {
				t.Errorf("%s: %d, not %d: %s", step.Op, a.status, step.Status, cut(a.text))
			}
			if a.status >= 400 {
				s.checkProblem(step.Op, &a, a.field("code"))
			} else {
				s.documented(&doc, op, &a)
			}
			s.keep(step, &a, kept)
			recorded.look(op, a.status)
		}
		recorded.end()
		for id := range known {
			if !told[id] && !elsewhere[id] {
				t.Errorf("examples.txt has no %s", id)
			}
		}
	})
}

// elsewhere are operations whose answers do not end, or that need a token of a function in Go, so
// that other tests send them.
var elsewhere = map[string]bool{
	"event-follow": true, "job-watch": true, "callback-complete": true, "callback-fail": true, "callback-heartbeat": true,
}
