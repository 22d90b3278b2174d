package audited

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// text is an object as entries have it. One that is too long is replaced by its length.
func text(of any) string {
	b, err := json.Marshal(of)
	if err != nil {
		panic("an entry of the audit cannot be encoded: " + err.Error()) // it has texts, numbers and times
	}
	if len(b) > store.MostAuditText {
		return fmt.Sprintf(`{"omitted_bytes":%d}`, len(b))
	}
	return string(b)
}

// set is what Before and After say of something that is the one or the other.
func set(what string, is bool) string { return fmt.Sprintf(`{%q:%t}`, what, is) }

// length is a time that something takes; "": none.
func length(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return d.String()
}

// keep is how long something is kept.
func keep(d time.Duration) string {
	if d == store.KeepForever {
		return "forever"
	}
	return length(d)
}
