package move

import (
	"encoding/hex"
	"strings"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

// Rows as they come and go in JSON. The names are those of the columns; NULL is a nil pointer.

type bodyRow struct {
	ID           store.ID  `json:"id"`
	Lane         int32     `json:"lane"`
	RunAt        int64     `json:"run_at"`
	CreatedAt    int64     `json:"created_at"`
	Lease        int64     `json:"lease"`
	Attempt      int       `json:"attempt"`
	MaxAttempts  int       `json:"max_attempts"`
	Codec        int       `json:"codec"`
	Args         *string   `json:"args"`
	Options      *string   `json:"options"`
	Tags         *string   `json:"tags"`
	Metadata     *string   `json:"metadata"`
	OrderingKey  *string   `json:"ordering_key"`
	UniqueKey    *string   `json:"unique_key"`
	UniqueStates *int      `json:"unique_states"`
	Parent       *store.ID `json:"parent"`
	Link         *int32    `json:"link"`
	Closing      *int64    `json:"closing"`
	ClaimedAt    *int64    `json:"claimed_at"`
	Remembers    *bool     `json:"remembers"`
}

type availableRow struct {
	ID          store.ID `json:"id"`
	Lane        int32    `json:"lane"`
	RunAt       int64    `json:"run_at"`
	Queue       int32    `json:"queue"`
	Priority    int      `json:"priority"`
	OrderingKey *string  `json:"ordering_key"`
	Keyed       bool     `json:"keyed"`
}

type deferredRow struct {
	Due         int64    `json:"due"`
	ID          store.ID `json:"id"`
	Lane        int32    `json:"lane"`
	State       int32    `json:"state"`
	OrderingKey *string  `json:"ordering_key"`
	Seen        *int64   `json:"seen"`
	Enough      *int64   `json:"enough"`
	Since       *int64   `json:"since"`
	Until       *int64   `json:"until"`
	WasDue      *int64   `json:"was_due"`
	WasRunAt    *int64   `json:"was_run_at"`
	WasState    *int32   `json:"was_state"`
	Kinds       *int32   `json:"kinds"`
	Failures    *bool    `json:"failures"`
	Held        *bool    `json:"held"`
	Reason      *string  `json:"reason"`
	Error       *string  `json:"error"`
	WaitsFor    *string  `json:"waits_for"`
	HandedOver  *int16   `json:"handed_over"`
}

type finishedRow struct {
	ID          store.ID `json:"id"`
	FinishedAt  int64    `json:"finished_at"`
	Lease       *int64   `json:"lease"`
	Node        *int64   `json:"node"`
	ClaimedAt   *int64   `json:"claimed_at"`
	StartedAt   *int64   `json:"started_at"`
	State       int32    `json:"state"`
	Reason      *string  `json:"reason"`
	Error       *string  `json:"error"`
	Result      *string  `json:"result"`
	Codec       *int32   `json:"codec"`
	Fingerprint *int64   `json:"fingerprint"`
	Lane        *int32   `json:"lane"` // of one that did not complete
}

type attemptRow struct {
	ID        store.ID `json:"id"`
	Lease     int64    `json:"lease"`
	Node      int64    `json:"node"`
	ClaimedAt int64    `json:"claimed_at"`
	StartedAt *int64   `json:"started_at"`
	EndedAt   int64    `json:"ended_at"`
	Attempt   int      `json:"attempt"`
	Outcome   int32    `json:"outcome"`
	Reason    *string  `json:"reason"`
	Error     *string  `json:"error"`
	Trace     *string  `json:"trace"`
	Lost      *bool    `json:"lost"`
}

type checkpointRow struct {
	ID        store.ID `json:"id"`
	Lease     int64    `json:"lease"`
	Percent   float64  `json:"percent"`
	UpdatedAt int64    `json:"updated_at"`
	Message   *string  `json:"message"`
	Value     *string  `json:"value"`
}

type requestRow struct {
	ID     store.ID `json:"id"`
	At     int64    `json:"at"`
	Reason *string  `json:"reason"`
	Actor  *string  `json:"actor"`
	Seen   bool     `json:"seen"`
}

type actionRow struct {
	ID     store.ID `json:"id"`
	At     int64    `json:"at"`
	Actor  string   `json:"actor"`
	Action string   `json:"action"`
	Detail *string  `json:"detail"`
}

type uniqueRow struct {
	Key *string  `json:"key"`
	ID  store.ID `json:"id"`
}

type turnRow struct {
	ID          store.ID `json:"id"`
	Queue       int32    `json:"queue"`
	OrderingKey string   `json:"ordering_key"`
}

// edgeRow is a job for which another one waits.
type edgeRow struct {
	On     store.ID `json:"predecessor"`
	Job    store.ID `json:"successor"`
	Policy int16    `json:"policy"`
	Told   *int32   `json:"told"`
}

type closingRow struct {
	ID store.ID `json:"id"`
	At int64    `json:"at"`
}

type queueRow struct {
	Namespace string  `json:"namespace"`
	Name      string  `json:"name"`
	CreatedAt int64   `json:"created_at"`
	PausedAt  *int64  `json:"paused_at"`
	PausedBy  *string `json:"paused_by"`
	RestUntil *int64  `json:"rest_until"`
	RestLevel int     `json:"rest_level"`
	Attempts  *string `json:"attempts"`
	DeletedAt *int64  `json:"deleted_at"`
}

type keyRow struct {
	Namespace string   `json:"namespace"`
	Kind      string   `json:"kind"`
	Key       string   `json:"key"`
	ID        store.ID `json:"id"`
	Keep      int64    `json:"keep"`
	Until     *int64   `json:"until"`
	Args      *string  `json:"args"`
}

type signalRow struct {
	ID        store.ID `json:"id"`
	Namespace string   `json:"namespace"`
	Job       store.ID `json:"job"`
	Seq       int64    `json:"seq"`
	Differs   bool     `json:"differs"`
	At        int64    `json:"at"`
}

type entryRow struct {
	ID    store.ID `json:"id"`
	Seq   int64    `json:"seq"`
	At    int64    `json:"at"`
	Lease int64    `json:"lease"`
	Ref   *int64   `json:"ref"`
	Codec int      `json:"codec"`
	Kind  int16    `json:"kind"`
	Path  string   `json:"path"`
	Name  *string  `json:"name"`
	Data  *string  `json:"data"`
	Took  *int64   `json:"took"`
}

type messageRow struct {
	ID     store.ID  `json:"id"`
	Seq    int64     `json:"seq"`
	At     int64     `json:"at"`
	From   *store.ID `json:"from_id"`
	Codec  int       `json:"codec"`
	Kind   int16     `json:"kind"`
	State  *int16    `json:"state"`
	Name   *string   `json:"name"`
	Key    *string   `json:"key"`
	Reason *string   `json:"reason"`
	Error  *string   `json:"error"`
	Data   *string   `json:"data"`
	Trace  *string   `json:"trace"`
}

// logRow is a chunk of what a run has logged.
type logRow struct {
	ID      store.ID `json:"id"`
	Lease   int64    `json:"lease"`
	First   int64    `json:"first"`
	Attempt int      `json:"attempt"`
	Count   int      `json:"count"`
	Lines   *string  `json:"lines"`
}

// hexOf is bytes as PostgreSQL writes a bytea as text; nil for nil.
func hexOf(b []byte) *string {
	if b == nil {
		return nil
	}
	text := `\x` + hex.EncodeToString(b)
	return &text
}

// bytesOf is the opposite of hexOf.
func bytesOf(text *string) ([]byte, error) {
	if text == nil {
		return nil, nil
	}
	return hex.DecodeString(strings.TrimPrefix(*text, `\x`))
}

// unlessZero is nil for zero.
func unlessZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// textOf is a text of people or of code, without what the database cannot hold; nil if it is empty.
func textOf[T ~string](text T) *string { return pg.OptText(string(text)) }
