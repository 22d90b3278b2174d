package postgres

import (
	"embed"
	"fmt"
	"math"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store/internal/sqltext"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// statements are the texts of the sql directory by name, as inSchema takes them. What stands in
// those files is explained in store/internal/sqltext.
var statements = sqltext.Must(sqltext.Load(sqlFiles, "sql/*.sql", sqltext.Options{
	Params: sqltext.Numbered,
	Names:  sqltext.Codes(codes),
	Later:  []string{"schema", "schema_name", "fence", "table", "day", "from", "to"},
}))

// never is the due time of what no time wakes.
const never = math.MaxInt64

// The bits of a link: the policy, and whether the child answers its parent.
const (
	policyBits = 3
	answers    = 4
)

// The traits of runs, as the statement conclude has them.
const (
	traitDurable   = 1 << iota // it has a journal
	traitChildren              // its end may have children to close
	traitContinues             // it starts over
	traitHeld                  // it is held
	traitFailures              // failures of children wake it
	traitFree                  // it is not counted as an attempt
	traitSeen                  // it knew of the request to cancel it
	traitMisfit                // its code contradicts its journal
)

// The verdicts of the statement send.
const (
	sendStored = iota
	sendDuplicate
	sendNoJob
	sendFinished // its number is the state
	sendNoCallback
	sendAnswered
)

// unsaidLeaderTTL is how many microseconds the lease of a leader was long if nothing says it: that
// program was too old to.
const unsaidLeaderTTL = 60_000_000

// The sorts of rows that the statement beat answers with.
const (
	beatSelf = iota
	beatCancel
	beatPause
	beatOther
	beatHeld
)

// codes are the names of this package's numbers in its SQL, beside those of package store.
var codes = map[string]int64{
	"never": never, "answers": answers, "policy_bits": policyBits, "unsaid_leader_ttl": unsaidLeaderTTL,

	"durable": traitDurable, "continues": traitContinues, "hold": traitHeld, "failures": traitFailures, "free": traitFree, "seen": traitSeen,
	"misfit": traitMisfit,

	"send_stored": sendStored, "send_duplicate": sendDuplicate, "send_no_job": sendNoJob, "send_finished": sendFinished,
	"send_no_callback": sendNoCallback, "send_answered": sendAnswered,

	"beat_self": beatSelf, "beat_cancel": beatCancel, "beat_pause": beatPause, "beat_other": beatOther, "beat_held": beatHeld,
}

// statementsIn returns the statements for a schema.
func statementsIn(schema string) map[string]string {
	texts := make(map[string]string, len(statements))
	for name, text := range statements {
		texts[name] = inSchema(text, schema)
	}
	return texts
}

// inSchema puts the quoted name of a schema where a text says {schema}, and the name as a text where it says {schema_name}. They are the
// only things that are ever put into one, and never between dollars, which a name may have. {fence} is the
// number of the advisory lock of the journals of node t.id, made of both names: all who take it have to mean the same, so it is written
// here.
func inSchema(text, schema string) string {
	name := "'" + strings.ReplaceAll(schema, "'", "''") + "'"
	fence := "hashint8extended(t.id, hashtextextended(" + name + ", 0))"
	return strings.NewReplacer("{schema}", pgx.Identifier{schema}.Sanitize(), "{schema_name}", name, "{fence}", fence).Replace(text)
}

// text returns a statement. An unknown name is a mistake in this package.
func (s *database) text(name string) string {
	text, ok := s.texts[name]
	if !ok {
		panic(fmt.Sprintf("postgres: no statement is named %q", name))
	}
	return text
}
