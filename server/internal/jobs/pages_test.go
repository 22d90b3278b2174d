package jobs_test

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/holdfastdev/holdfast/server/internal/apitest"
)

// pagesOf follows the pages of a list, and returns a field of all items, and how many bytes the
// largest page has.
func pagesOf(s *apitest.Server, path, field string) (got []string, largest int) {
	for cursor := ""; ; {
		a := s.OK(http.StatusOK, get, path+"&cursor="+url.QueryEscape(cursor), nil)
		largest = max(largest, len(a.Text))
		for _, item := range a.Items() {
			got = append(got, fmt.Sprint(item[field]))
		}
		next, more := a.JSON["next_cursor"].(string)
		if !more {
			return got, largest
		}
		cursor = next
	}
}
