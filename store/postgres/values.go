package postgres

import (
	"encoding/json"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/holdfastdev/holdfast/store"
)

// Parameters are of the types that pgx knows by heart, so that they can be sent in every mode, with prepared statements
// or without.

func uuidOf(id store.ID) pgtype.UUID { return pgtype.UUID{Bytes: id, Valid: true} }

func uuidsOf(ids []store.ID) []pgtype.UUID {
	list := make([]pgtype.UUID, len(ids))
	for i, id := range ids {
		list[i] = uuidOf(id)
	}
	return list
}

// optText is NULL for the empty string. What PostgreSQL cannot hold in a text is replaced: such texts are for people, and
// a job has to end whatever its panic said.
func optText(s string) *string {
	if s == "" {
		return nil
	}
	s = cleanText(s)
	return &s
}

func cleanText(s string) string {
	if isText(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// isText reports whether PostgreSQL can hold s in a text.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// optInt is 0 for NULL.
func optInt[T int32 | int64](n *T) T {
	if n == nil {
		return 0
	}
	return *n
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// ifAny returns the list, or nil, which is sent as NULL, if all of it is nil: most optional columns are not used at all.
func ifAny(list []*string) []*string {
	for _, s := range list {
		if s != nil {
			return list
		}
	}
	return nil
}

// ifSet is ifAny for what is not set if it is zero.
func ifSet[T comparable](list []T) []T {
	var zero T
	for _, v := range list {
		if v != zero {
			return list
		}
	}
	return nil
}

func ifAnyBytes(list [][]byte) [][]byte {
	for _, b := range list {
		if b != nil {
			return list
		}
	}
	return nil
}

// encodeOptions returns options as they are stored: NULL if there are none. Their deadline is truncated to microseconds,
// as every time is.
func encodeOptions(o store.Options) (*string, error) {
	if !o.Deadline.IsZero() {
		o.Deadline = o.Deadline.UTC().Truncate(time.Microsecond)
	}
	if o == (store.Options{}) {
		return nil, nil
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	s := string(text)
	return &s, nil
}

func decodeOptions(text []byte, o *store.Options) error {
	if text == nil {
		return nil
	}
	return json.Unmarshal(text, o)
}

func encodeTags(tags []string) (*string, error) {
	if len(tags) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(tags)
	if err != nil {
		return nil, err
	}
	s := string(text)
	return &s, nil
}

// linkOf is what the body of a child keeps of its parent beside its id; nil if it has none.
func linkOf(job *store.Job) *int32 {
	if job.Parent == (store.ID{}) {
		return nil
	}
	link := int32(job.OnParentClose)
	if job.Answers {
		link |= answers
	}
	return &link
}

// job turns a body into a job; what its lane says is left out.
func (b *body) job(id store.ID) (job store.Job, err error) {
	err = b.fill(&job, id)
	return job, err
}

// fill is job for one that is in its place already: they are large.
func (b *body) fill(job *store.Job, id store.ID) error {
	*job = store.Job{
		ID: id, Args: b.args, Codec: int(b.codec), CreatedAt: timeOf(b.createdAt), RunAt: timeOf(b.runAt),
		Attempt: int(b.attempt), MaxAttempts: int(b.maxAttempts), Metadata: b.metadata,
		OrderingKey: textOf(b.orderingKey), UniqueKey: b.uniqueKey, LeaseNumber: b.lease,
		Closing: b.closing != nil, Parent: b.parent.Bytes,
	}
	if b.runAt == math.MaxInt64 {
		job.RunAt = time.Time{} // it waits, and no time will wake it
	}
	if b.link != nil {
		job.Answers, job.OnParentClose = *b.link&answers != 0, store.ClosePolicy(*b.link&^answers)
	}
	if b.uniqueStates != nil {
		job.UniqueStates = store.StateSet(*b.uniqueStates)
	}
	if b.tags != nil {
		if err := json.Unmarshal(b.tags, &job.Tags); err != nil {
			return err
		}
	}
	return decodeOptions(b.options, &job.Options)
}

func (c *checkpointRow) checkpoint() *store.Checkpoint {
	if c.updatedAt == nil {
		return nil
	}
	return &store.Checkpoint{Percent: *c.percent, Message: textOf(c.message), Value: c.value, UpdatedAt: timeOf(*c.updatedAt)}
}
