package sqlite

import (
	"embed"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the texts of the sql directory by name. What stands in those files is explained in
// store/internal/sqltext.
//
// A limit is written LIMIT ? + 0: the planner looks at the value of a bare parameter there, and SQLite then prepares the
// statement again each time it is bound, which cost a claim of one job half of its time.
var statements = sqltext.Must(sqltext.Load(sqlFiles, "sql/*.sql", sqltext.Options{
	Params: sqltext.InOrder,
	Names:  sqltext.Codes(codes),
	Rows:   rowsAtOnce,
}))

// rowsAtOnce is how many rows one statement inserts: a statement has a price of its own, which is a
// third of that of a row.
const rowsAtOnce = 16

// never is the due time of a job that waits for something else than time.
const never = math.MaxInt64

// The bits of the column marks.
const (
	markAnswers = 1
	markClosing = 2
	markForked  = 4
	markPolicy  = 3 // how far the policy is shifted, which has two bits
	markDecided = 5 // how far the number of the entry is shifted with which the end was decided

	policyBits = 3 // of the policy, once it is shifted back
)

// The sorts of rows that the statement requests answers with.
const (
	requestCancel = 1
	requestPause  = 2
)

// codes are the names of this package's numbers in its SQL, beside those of package store.
var codes = map[string]int64{
	"never": never, "mark_closing": markClosing, "mark_policy": markPolicy, "mark_decided": markDecided, "policy_bits": policyBits,
	"request_cancel": requestCancel, "request_pause": requestPause,
}

// textOf returns a statement's text. An unknown name is a mistake in this package.
func textOf(name string) string {
	text, ok := statements[name]
	if !ok {
		panic(fmt.Sprintf("sqlite: no statement is named %q", name))
	}
	return text
}

// exec runs a statement whose count of changes does not matter.
func exec(s stmt) error {
	_, err := s.exec()
	return err
}

// exists reports whether a statement returns a row.
func exists(s stmt) (bool, error) {
	found, err := s.next()
	if found {
		s.done()
	}
	return found, err
}

// each calls row for every row. If row fails the rest is dropped.
func each(s stmt, row func() error) error {
	for {
		found, err := s.next()
		if err != nil || !found {
			return err
		}
		if err := row(); err != nil {
			s.done()
			return err
		}
	}
}

// bindID binds an id.
func bindID(s stmt, id store.ID) { s.bindBlob(id[:]) }

// readID reads an id.
func readID(s stmt) (id store.ID) {
	copy(id[:], s.readBlob())
	return id
}

// bindOptText binds NULL for the empty string.
func bindOptText(s stmt, v string) {
	if v == "" {
		s.bindNull()
	} else {
		s.bindText(v)
	}
}

// readOptText reads NULL as the empty string.
func readOptText(s stmt) string {
	if s.readNull() {
		return ""
	}
	return s.readText()
}

// readOptInt reads NULL as 0.
func readOptInt(s stmt) int64 {
	if s.readNull() {
		return 0
	}
	return s.readInt()
}

// bindOptInt binds NULL for 0.
func bindOptInt(s stmt, v int64) {
	if v == 0 {
		s.bindNull()
	} else {
		s.bindInt(v)
	}
}

// bindOptBlob binds NULL for nil.
func bindOptBlob(s stmt, v []byte) {
	if v == nil {
		s.bindNull()
	} else {
		s.bindBlob(v)
	}
}

// readOptBlob reads NULL as nil.
func readOptBlob(s stmt) []byte {
	if s.readNull() {
		return nil
	}
	return s.readBlob()
}

// isText reports whether both databases can keep s as text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// bindPayload binds bytes of a codec: as text if they are text, so that people can read them and SQL can look into
// JSON; else as a blob. Both come back as the same bytes.
func bindPayload(s stmt, v []byte) {
	switch {
	case v == nil:
		s.bindNull()
	case isText(string(v)):
		s.bindText(string(v))
	default:
		s.bindBlob(v)
	}
}

// boolInt returns 1 for true.
func boolInt(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// bindOptTime binds NULL for the zero time.
func bindOptTime(s stmt, t time.Time) {
	if t.IsZero() {
		s.bindNull()
	} else {
		s.bindInt(t.UnixMicro())
	}
}

// readTime reads a time in microseconds.
func readTime(s stmt) time.Time { return timeOf(s.readInt()) }

// readOptTime reads NULL as the zero time.
func readOptTime(s stmt) time.Time {
	if s.readNull() {
		return time.Time{}
	}
	return readTime(s)
}
