package stats_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestStats: what has run is counted, by queue and kind, with integers as strings, and nodes tell
// of themselves.
func TestStats(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		kind := holdfast.NewTask[int]("mail")
		if err := kind.Handle(s.Client, func(*holdfast.Run, int) error { return nil }); err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Start(s.Context()); err != nil {
			s.Fatal(err)
		}
		job, err := kind.Enqueue(s.Context(), s.Client, 1)
		if err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Wait(s.Context(), job.ID); err != nil {
			s.Fatal(err)
		}
		if err := s.Client.Stop(s.Context()); err != nil { // the node writes down what it has counted
			s.Fatal(err)
		}
		a := s.OK(http.StatusOK, http.MethodGet, "/stats/jobs?queue=default", nil)
		if len(a.Items()) != 1 {
			s.Fatalf("there are the points %s", a.Text)
		}
		p := a.Items()[0]
		run, _ := p["run"].(map[string]any)
		if p["kind"] != "mail" || p["completed"] != "1" || p["failed"] != "0" || run["count"] != "1" {
			s.Errorf("the point is %v", p)
		}
		if all := s.OK(http.StatusOK, http.MethodGet, "/stats/jobs?by=none&step=1m", nil); len(all.Items()) != 1 || all.Items()[0]["queue"] != nil {
			s.Errorf("all together are %s", all.Text)
		}
		if a := s.OK(http.StatusOK, http.MethodGet, "/stats/jobs?namespace=theirs", nil); len(a.Items()) != 0 {
			s.Errorf("another namespace has %s", a.Text)
		}
		for _, path := range []string{"/stats/nodes", "/stats/database"} {
			for _, item := range func() []map[string]any { a := s.OK(http.StatusOK, http.MethodGet, path, nil); return a.Items() }() {
				if values, _ := item["values"].(map[string]any); len(values) == 0 {
					s.Errorf("%s has %v", path, item)
				}
			}
		}
	})
}

// TestStatsRefused: what would be too much, or is no time, is refused.
func TestStatsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	old := time.Now().Add(-240 * time.Hour).UTC().Format(time.RFC3339)
	for _, query := range []string{"?step=90s", "?step=x", "?by=all", "?since=yesterday", "?since=" + old + "&step=1m", "?until=" + old} {
		s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/stats/jobs"+query, nil)
	}
	s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/stats/nodes?step=1s", nil)
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"default", "mine"}, Scopes: access.Scopes})
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/stats/jobs?namespace=theirs", nil)
	s.As(access.Principal{Name: "blind"})
	for _, path := range []string{"/stats/jobs", "/stats/nodes", "/stats/database"} {
		s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, path, nil)
	}
}
