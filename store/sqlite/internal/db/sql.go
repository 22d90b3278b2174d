package db

import (
	"embed"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// Statements are the texts of the sql directory by name. What stands in those files is explained in
// store/internal/sqltext.
//
// A limit is written LIMIT ? + 0: the planner looks at the value of a bare parameter there, and
// SQLite then prepares the statement again each time it is bound, which cost a claim of one job
// half of its time.
var Statements = sync.OnceValue(func() map[string]string {
	return sqltext.Must(sqltext.Load(sqlFiles, "sql/*.sql", sqltext.Options{
		Params: sqltext.InOrder,
		Names:  sqltext.Codes(codes),
		Rows:   RowsAtOnce,
	}))
})

// RowsAtOnce is how many rows one statement inserts: a statement has a price of its own, which is a
// third of that of a row.
const RowsAtOnce = 16

// Never is the due time of a job that waits for something else than time.
const Never = math.MaxInt64

// The bits of the column marks.
const (
	MarkAnswers = 1
	MarkClosing = 2
	MarkForked  = 4
	MarkPolicy  = 3 // how far the policy is shifted, which has two bits
	MarkDecided = 5 // how far the number of the entry is shifted with which the end was decided

	MarkSuccessors = 1 << 61 // others come after it
	MarkMember     = 1 << 60 // it belongs to a batch, which the column parent names

	PolicyBits = 3 // of the policy, once it is shifted back
)

// The sorts of rows that the statement requests answers with.
const (
	RequestCancel = 1
	requestPause  = 2
)

// TakenLost is what the column taken of an attempt is if the run was lost with its node, which gave
// it up or died; a run that was taken for another reason has 1.
const TakenLost = 2

// codes are the names of this package's numbers in its SQL, beside those of package store.
var codes = map[string]int64{
	"never": Never, "mark_closing": MarkClosing, "mark_policy": MarkPolicy, "mark_decided": MarkDecided, "policy_bits": PolicyBits,
	"mark_successors": MarkSuccessors, "mark_member": MarkMember,
	"request_cancel": RequestCancel, "request_pause": requestPause, "taken_lost": TakenLost,
}

// TextOf returns a statement's text. An unknown name is a mistake in this package.
func TextOf(name string) string {
	text, ok := Statements()[name]
	if !ok {
		panic(fmt.Sprintf("sqlite: no statement is named %q", name))
	}
	return text
}

// Exec runs a statement whose count of changes does not matter.
func Exec(s Stmt) error {
	_, err := s.Exec()
	return err
}

// Exists reports whether a statement returns a row.
func Exists(s Stmt) (bool, error) {
	found, err := s.Next()
	if found {
		s.Done()
	}
	return found, err
}

// Each calls row for every row. If row fails the rest is dropped.
func Each(s Stmt, row func() error) error {
	for {
		found, err := s.Next()
		if err != nil || !found {
			return err
		}
		if err := row(); err != nil {
			s.Done()
			return err
		}
	}
}

// BindID binds an id.
func BindID(s Stmt, id store.ID) { s.BindBlob(id[:]) }

// ReadID reads an id.
func ReadID(s Stmt) (id store.ID) {
	copy(id[:], s.ReadBlob())
	return id
}

// BindOptText binds NULL for the empty string.
func BindOptText(s Stmt, v string) {
	if v == "" {
		s.BindNull()
	} else {
		s.BindText(v)
	}
}

// ReadOptText reads NULL as the empty string.
func ReadOptText(s Stmt) string {
	if s.ReadNull() {
		return ""
	}
	return s.ReadText()
}

// ReadOptInt reads NULL as 0.
func ReadOptInt(s Stmt) int64 {
	if s.ReadNull() {
		return 0
	}
	return s.ReadInt()
}

// BindOptInt binds NULL for 0.
func BindOptInt(s Stmt, v int64) {
	if v == 0 {
		s.BindNull()
	} else {
		s.BindInt(v)
	}
}

// BindOptBlob binds NULL for nil.
func BindOptBlob(s Stmt, v []byte) {
	if v == nil {
		s.BindNull()
	} else {
		s.BindBlob(v)
	}
}

// ReadOptBlob reads NULL as nil.
func ReadOptBlob(s Stmt) []byte {
	if s.ReadNull() {
		return nil
	}
	return s.ReadBlob()
}

// isText reports whether both databases can keep s as text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// BindPayload binds bytes of a codec: as text if they are text, so that people can read them and
// SQL can look into JSON; else as a blob. Both come back as the same bytes.
func BindPayload(s Stmt, v []byte) {
	switch {
	case v == nil:
		s.BindNull()
	case isText(string(v)):
		s.BindText(string(v))
	default:
		s.BindBlob(v)
	}
}

// BoolInt returns 1 for true.
func BoolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// BindOptTime binds NULL for the zero time.
func BindOptTime(s Stmt, t time.Time) {
	if t.IsZero() {
		s.BindNull()
	} else {
		s.BindInt(t.UnixMicro())
	}
}

// ReadTime reads a time in microseconds.
func ReadTime(s Stmt) time.Time { return TimeOf(s.ReadInt()) }

// ReadOptTime reads NULL as the zero time.
func ReadOptTime(s Stmt) time.Time {
	if s.ReadNull() {
		return time.Time{}
	}
	return ReadTime(s)
}

// ReadAttempts reads what is set of a queue.
func ReadAttempts(s Stmt) (store.QueueAttempts, error) {
	return store.DecodeQueueAttempts(ReadOptText(s))
}

// ReadRest reads the two columns of the rest of a queue.
func ReadRest(s Stmt) store.Resting {
	return store.Resting{Until: ReadOptTime(s), Level: int(s.ReadInt())}
}
