//go:build soak

package jobs_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestPagesOfLargePayloads: a page ends early where payloads are large, and the next one goes on
// behind it.
func TestPagesOfLargePayloads(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		const n, most = 60, 20 << 20
		large := strings.Repeat("x", 1_000_000)
		var ids, numbers []string
		for i := range n {
			ids = append(ids, s.Enqueue(map[string]any{"kind": "mail", "args": large, "delay": "1h"}))
			s.OK(http.StatusOK, post, "/jobs/"+ids[0]+"/signals", map[string]any{"name": "more", "payload": large})
			numbers = append(numbers, strconv.Itoa(i+1))
		}
		for _, of := range []struct {
			path, field string
			want        []string
		}{
			{"/jobs?sort=oldest&limit=200", "id", ids},
			{"/jobs/" + ids[0] + "/messages?limit=1000", "seq", numbers},
		} {
			got, largest := pagesOf(s, of.path, of.field)
			if fmt.Sprint(got) != fmt.Sprint(of.want) {
				s.Errorf("%s: %v, want %v", of.path, got, of.want)
			}
			if largest > most {
				s.Errorf("%s: a page has %d bytes", of.path, largest)
			}
		}
	})
}
