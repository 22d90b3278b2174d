package pg

import (
	"cmp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// Parameters are of the types that pgx knows by heart, so that they can be sent in every mode, with
// prepared statements or without.

// UUIDOf is an id as it is sent.
func UUIDOf(id store.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

// UUIDsOf are ids as they are sent.
func UUIDsOf(ids []store.ID) []pgtype.UUID {
	list := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		list[i] = UUIDOf(id)
	}
	return list
}

// OptText is NULL for the empty string. What PostgreSQL cannot hold in a text is replaced: such
// texts are for people, and a job has to end whatever its panic said.
func OptText(s string) *string {
	if s == "" {
		return nil
	}
	s = CleanText(s)
	return &s
}

// DueOf is when a pointer is due that is to be due at that time; zero: never.
func DueOf(at time.Time) int64 {
	if at.IsZero() {
		return Never
	}
	return at.UnixMicro()
}

// TimeOfDue is the inverse of DueOf.
func TimeOfDue(due int64) time.Time {
	if due == Never {
		return time.Time{}
	}
	return TimeOf(due)
}

// CleanText replaces what PostgreSQL cannot hold in a text.
func CleanText(s string) string {
	if IsText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// IsText reports whether PostgreSQL can hold s in a text.
func IsText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// OptInt is 0 for NULL.
func OptInt[T int32 | int64](n *T) T {
	if n == nil {
		return 0
	}
	return *n
}

// TextOf is the empty string for NULL.
func TextOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// IfAny returns the list, or nil, which is sent as NULL, if all of it is nil: most optional columns
// are not used at all.
func IfAny(list []*string) []*string {
	for _, s := range list {
		if s != nil {
			return list
		}
	}
	return nil
}

// IfSet is IfAny for what is not set if it is zero.
func IfSet[T comparable](list []T) []T {
	var zero T
	for _, v := range list {
		if v != zero {
			return list
		}
	}
	return nil
}

// IfAnyBytes is IfAny for bytes.
func IfAnyBytes(list [][]byte) [][]byte {
	for _, b := range list {
		if b != nil {
			return list
		}
	}
	return nil
}

// CompareLeases orders leases as statements lock their claim records.
func CompareLeases(a, b store.Lease) int {
	return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.Slot, b.Slot))
}
