package pg

import (
	"embed"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/internal/gates"
	"github.com/holdfastdev/holdfast/store/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the texts of the sql directory by name, as InSchema takes them. What stands in
// those files is explained in store/internal/sqltext.
var statements = sync.OnceValue(func() map[string]string {
	return sqltext.Must(sqltext.Load(sqlFiles, "sql/*.sql", sqltext.Options{
		Params: sqltext.Numbered,
		Names:  sqltext.Codes(codes),
		Later:  []string{"schema", "schema_name", "fence", "table", "day", "from", "to"},
	}))
})

// Never is the due time of what no time wakes.
const Never = math.MaxInt64

// The bits of a link: the policy of a child, whether it answers its parent, whether others come
// after the job, whatever it is, and whether it belongs to a batch, which the column parent names.
const (
	policyBits = 3
	answers    = 4
	successors = 8
	member     = 16
)

// The traits of runs, as the statement conclude has them.
const (
	TraitDurable     = 1 << iota // it has a journal
	TraitChildren                // its end may have children to close
	TraitContinues               // it starts over
	TraitHeld                    // it is held
	TraitFailures                // failures of children wake it
	TraitFree                    // it is not counted as an attempt
	TraitCancelSeen              // it knew of the request to cancel it
	TraitContradicts             // its code contradicts its journal
	TraitHandsOver               // it hands its job over
	TraitUndoes                  // and has registered compensations
	TraitLost                    // its node died, or gave it up
	TraitKeepsPlace              // it never began, and keeps its run time
)

// What the column handed_over says of a job that is.
const (
	HandedOver     = 1
	HandedOverUndo = 2 // and its run has registered compensations
)

// The verdicts of the statement send.
const (
	SendStored = iota
	SendDuplicate
	SendNoJob
	SendFinished // its number is the state
	SendNoCallback
	SendAnswered
)

// unsaidLeaderTTL is how many microseconds the lease of a leader was long if nothing says it: that
// program was too old to.
const unsaidLeaderTTL = 60_000_000

// The sorts of rows that the statement beat answers with.
const (
	BeatSelf = iota
	BeatCancel
	BeatPause
	BeatOther
	BeatHeld
)

// What one claim looks at, and tells of, at the most: names of the statement claim.
const (
	claimRanges = 64   // ranges of which several rows are read; of more, only the first one of each
	fairRanges  = 256  // the same where jobs have fair keys
	claimMore   = 100  // further rows of a range, if there are so many ranges that one was read of each
	ClaimSeen   = 4096 // lanes with work that it tells of
)

const (
	sweepGates = 250 // gates that one statement of a sweep looks at
	gatesAsked = 2   // the row of gate_sweep that counts how often a sweep was asked for
)

// untoldPassed is how many finished jobs that others have to be told of one look for old ones
// passes over.
const untoldPassed = 10_000

// feedPart is how many statements one row of the order of the feed has at the most.
const feedPart = 1000

// codes are the names of this package's numbers in its SQL, beside those of package store.
var codes = map[string]int64{
	"never": Never, "answers": answers, "policy_bits": policyBits, "successors": successors, "member": member,
	"unsaid_leader_ttl": unsaidLeaderTTL,

	"gate_portion": gates.Portion,
	"sweep_gates":  sweepGates,
	"gates_asked":  gatesAsked,
	"sweep_after":  store.SweepAfter.Microseconds(),

	"wake_slots_free": int64(store.WakeSlotsFree),

	"feed_part": feedPart, "untold_passed": untoldPassed,

	"claim_ranges": claimRanges, "claim_fair_ranges": fairRanges, "claim_more": claimMore, "claim_seen": ClaimSeen,

	"durable": TraitDurable, "continues": TraitContinues, "held": TraitHeld, "failures": TraitFailures, "free": TraitFree,
	"cancel_seen": TraitCancelSeen, "contradicts": TraitContradicts, "hands_over": TraitHandsOver, "undoes": TraitUndoes, "lost": TraitLost,
	"keeps_place": TraitKeepsPlace,

	"handed_over": HandedOver, "handed_over_undo": HandedOverUndo,

	"send_stored": SendStored, "send_duplicate": SendDuplicate, "send_no_job": SendNoJob, "send_finished": SendFinished,
	"send_no_callback": SendNoCallback, "send_answered": SendAnswered,

	"beat_self": BeatSelf, "beat_cancel": BeatCancel, "beat_pause": BeatPause, "beat_other": BeatOther, "beat_held": BeatHeld,
}

// statementsIn returns the statements for a schema.
func statementsIn(schema string) map[string]string {
	texts := make(map[string]string, len(statements()))
	put := inSchema(schema)
	for name, text := range statements() {
		texts[name] = put.Replace(text)
	}
	return texts
}

// InSchema puts the quoted name of a schema where a text says {schema}, and the name as a text
// where it says {schema_name}. They are the only things that are ever put into one, and never
// between dollars, which a name may have. {fence} is the number of the advisory lock of the
// journals of node t.id, made of both names: all who take it have to mean the same, so it is
// written here.
func InSchema(text, schema string) string { return inSchema(schema).Replace(text) }

func inSchema(schema string) *strings.Replacer {
	name := "'" + strings.ReplaceAll(schema, "'", "''") + "'"
	fence := "hashint8extended(t.id, hashtextextended(" + name + ", 0))"
	return strings.NewReplacer("{schema}", pgx.Identifier{schema}.Sanitize(), "{schema_name}", name, "{fence}", fence)
}

// Text returns a statement. An unknown name is a mistake in this package.
func (d *DB) Text(name string) string {
	text, ok := d.Texts[name]
	if !ok {
		panic(fmt.Sprintf("postgres: no statement is named %q", name))
	}
	return text
}
