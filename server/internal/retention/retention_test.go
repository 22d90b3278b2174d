package retention_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/holdfastdev/holdfast/retention"
	"github.com/holdfastdev/holdfast/server/access"
	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// TestRetention: a class is made, changed by who has read it, and deleted when no queue names it.
func TestRetention(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		const path = "/retention/classes/short"
		made := s.OK(http.StatusOK, http.MethodPut, path, `{"completed":"1h","failed":"forever"}`, "If-Match", "*")
		if made.JSON["completed"] != "1h0m0s" || made.JSON["failed"] != "forever" || made.JSON["cancelled"] != nil || made.JSON["set_by"] != "tester" {
			s.Errorf("the class is %s", made.Text)
		}
		tag := made.Header.Get("ETag")
		if got := s.OK(http.StatusOK, http.MethodGet, path, nil); got.Header.Get("ETag") != tag || got.Text != made.Text {
			s.Errorf("it is read as %s with %s, and not %s", got.Text, got.Header.Get("ETag"), tag)
		}
		s.OK(http.StatusOK, http.MethodPut, path, `{"cancelled":"2h"}`, "If-Match", tag)
		s.Refused(http.StatusPreconditionFailed, "changed", http.MethodPut, path, `{"cancelled":"3h"}`, "If-Match", tag)
		s.Refused(http.StatusPreconditionFailed, "changed", http.MethodDelete, path, nil, "If-Match", tag)
		s.Refused(http.StatusPreconditionRequired, "precondition_required", http.MethodPut, path, `{"cancelled":"3h"}`)
		s.Refused(http.StatusPreconditionRequired, "precondition_required", http.MethodDelete, path, nil)
		if a := s.OK(http.StatusOK, http.MethodGet, "/retention/classes", nil); len(a.Items()) != 1 || a.Items()[0]["cancelled"] != "2h0m0s" {
			s.Errorf("listed are %s", a.Text)
		}
		if err := retention.Name(s.Context(), s.Client, "mails", "short"); err != nil {
			s.Fatal(err)
		}
		s.Refused(http.StatusConflict, "conflict", http.MethodDelete, path, nil, "If-Match", "*")
		if err := retention.Name(s.Context(), s.Client, "mails", ""); err != nil {
			s.Fatal(err)
		}
		s.OK(http.StatusNoContent, http.MethodDelete, path, nil, "If-Match", "*")
		s.Refused(http.StatusNotFound, "not_found", http.MethodGet, path, nil)
		s.Refused(http.StatusNotFound, "not_found", http.MethodDelete, path, nil, "If-Match", "*")
		s.Refused(http.StatusPreconditionFailed, "changed", http.MethodPut, path, `{"cancelled":"3h"}`, "If-Match", tag)
		if a := s.OK(http.StatusOK, http.MethodGet, "/retention/removed?queue=mails", nil); len(a.Items()) != 0 {
			s.Errorf("removed are %s", a.Text)
		}
	})
}

// TestSetAtOnce: of those who change the same version at once, one does.
func TestSetAtOnce(t *testing.T) {
	t.Parallel()
	apitest.OnBoth(t, func(s *apitest.Server) {
		const path, n = "/retention/classes/short", 4
		for round := range 10 {
			body := fmt.Sprintf(`{"completed":"%dh"}`, 100+round)
			read := s.OK(http.StatusOK, http.MethodPut, path, body, "If-Match", "*").Header.Get("ETag")
			statuses := make(chan int, n)
			for i := range n {
				go func() {
					if i == 0 {
						statuses <- s.Do(http.MethodDelete, path, nil, "If-Match", read).Status
						return
					}
					statuses <- s.Do(http.MethodPut, path, fmt.Sprintf(`{"completed":"%dh"}`, i), "If-Match", read).Status
				}()
			}
			got := map[int]int{}
			for range n {
				got[<-statuses]++
			}
			if got[200]+got[204] != 1 || got[412] != n-1 {
				s.Fatalf("round %d: %v", round, got)
			}
		}
	})
}

// TestRetentionRefused: what cannot be a class is said, and a class is for keys of all namespaces.
func TestRetentionRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t)
	const path = "/retention/classes/short"
	for body, want := range map[string]string{
		`{}`: "", `{"completed":"1ms"}`: "/completed", `{"failed":"-1h"}`: "/failed", `{"cancelled":"always"}`: "/cancelled",
		`{"kept":"1h"}`: "/kept", `{"completed":3600}`: "/completed",
	} {
		if at := s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodPut, path, body, "If-Match", "*"); at != want {
			t.Errorf("%s is refused because of %q, and not %q", body, at, want)
		}
	}
	s.Refused(http.StatusUnprocessableEntity, "invalid", http.MethodGet, "/retention/removed?limit=0", nil)
	s.As(access.Principal{Name: "bounded", Namespaces: []string{"default"}, Scopes: access.Scopes})
	s.OK(http.StatusOK, http.MethodGet, "/retention/classes", nil)
	s.Refused(http.StatusForbidden, "forbidden", http.MethodPut, path, `{"completed":"1h"}`, "If-Match", "*")
	s.Refused(http.StatusForbidden, "forbidden", http.MethodDelete, path, nil, "If-Match", "*")
	s.Refused(http.StatusNotFound, "not_found", http.MethodGet, "/retention/removed?namespace=theirs", nil)
	s.As(access.Principal{Name: "blind"})
	for _, path := range []string{"/retention/classes", path, "/retention/removed"} {
		s.Refused(http.StatusForbidden, "forbidden", http.MethodGet, path, nil)
	}
}
