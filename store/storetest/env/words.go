package env

import (
	"regexp"
	"strings"

	"github.com/holdfastdev/holdfast/store"
)

// classes are what errors of stores may be.
var classes = []error{
	store.ErrInvalid, store.ErrNotFound, store.ErrConflict, store.ErrLeaseLost, store.ErrNodeDead, store.ErrUnavailable,
	store.ErrReadOnly, store.ErrFull, store.ErrSchema, store.ErrDatabaseGone, store.ErrClosed,
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// misspoken tells what is wrong with the words of a store's error; "" if nothing is.
func misspoken(err error) string {
	text := err.Error()
	said := map[string]int{}
	for _, id := range anyID.FindAllString(text, -1) {
		if said[id]++; said[id] > 1 {
			return "it names a job twice"
		}
	}
	for _, class := range classes {
		if n := strings.Count(text, class.Error()); n > 1 {
			return "it says its class twice"
		} else if n == 1 && !strings.HasPrefix(text, class.Error()) {
			return "its class does not come first"
		}
	}
	if strings.Contains(text, "\n") {
		return "it has several lines"
	}
	return ""
}
