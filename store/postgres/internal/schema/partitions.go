package schema

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres/internal/pg"
)

const (
	// DaysAhead is for how many days after today there are partitions. What comes later goes to the
	// default partition.
	DaysAhead = 3
	// extendAgain is how long after a failure to make partitions it is tried again.
	extendAgain = 5 * time.Minute
)

// Partition is the jobs of one day, by the time in their ids.
type Partition struct{ Start time.Time }

// Days are the partitions that there are, with the tables of each. A program of an earlier version
// makes fewer tables.
type Days map[Partition][]string

// partitioned are the tables that have a partition for each day.
var partitioned = []string{"job", "finished", "attempt", "journal", "inbox"}

func partitionOf(t time.Time) Partition { return Partition{t.UTC().Truncate(pg.Day)} }

// End is when the next day begins.
func (p Partition) End() time.Time { return p.Start.Add(pg.Day) }

// name is the suffix of its tables.
func (p Partition) name() string { return p.Start.Format("20060102") }

// Bounds are the first id of the day and that of the next one.
func (p Partition) Bounds() (from, to store.ID) { return firstID(p.Start), firstID(p.End()) }

// firstID is the lowest UUIDv7 of a moment, without its version: it sorts below all that have one.
func firstID(t time.Time) (id store.ID) {
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// Script returns a text of DDL for the partition of a table. It is the only place where a text is
// made of more than the schema's name; what is put in is names of ours, digits, and dashes and
// letters of ids.
func (s *Tables) Script(name, table string, p Partition) string {
	from, to := p.Bounds()
	return strings.NewReplacer("{table}", table, "{day}", p.name(), "{from}", from.String(), "{to}", to.String()).Replace(s.Text(name))
}

// OfTable returns a text for one table, in the same way.
func (s *Tables) OfTable(name, table string) string {
	return strings.ReplaceAll(s.Text(name), "{table}", table)
}

// Scripts is that for several tables.
func (s *Tables) Scripts(name string, tables []string, p Partition) string {
	var b strings.Builder
	for _, table := range tables {
		b.WriteString(s.Script(name, table, p) + ";\n")
	}
	return b.String()
}

var partitionName = regexp.MustCompile(`^([a-z]+)_(\d{8})$`)

// missing returns the tables that a day lacks.
func (d Days) missing(p Partition) []string {
	return slices.DeleteFunc(slices.Clone(partitioned), func(table string) bool { return slices.Contains(d[p], table) })
}

// OfJobs lists the days that have jobs, oldest first.
func (d Days) OfJobs() []Partition {
	var list []Partition
	for p, tables := range d {
		if slices.Contains(tables, "job") {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Partition) int { return a.Start.Compare(b.Start) })
	return list
}

// Partitions lists the partitions.
func (s *Tables) Partitions(ctx context.Context, t pg.Session) (Days, error) {
	list := Days{}
	tables := make([]string, len(partitioned))
	for i, table := range partitioned {
		tables[i] = pgx.Identifier{s.SchemaName, table}.Sanitize()
	}
	err := t.Run(ctx, "partitions", func(r pg.Row) error {
		var name string
		if err := r.Scan(&name); err != nil {
			return err
		}
		if m := partitionName.FindStringSubmatch(name); m != nil {
			start, err := time.Parse("20060102", m[2])
			if err != nil {
				return fmt.Errorf("%w: unexpected name of partition %s", store.ErrSchema, name)
			}
			list[Partition{start}] = append(list[Partition{start}], m[1])
		}
		return nil
	}, tables)
	return list, err
}

// ExtendPartitions makes the partitions of today and of the days to come, unless they are there. It
// asks the database once a day; several processes may do it at once.
func (s *Tables) ExtendPartitions(ctx context.Context) error {
	now := s.Now()
	if horizon := s.horizon.Load(); now.Add(pg.Day).UnixMicro() < horizon && now.Add((DaysAhead+2)*pg.Day).UnixMicro() > horizon {
		return nil
	}
	// Until this has worked it is not tried with every beat.
	s.horizon.Store(now.Add(pg.Day + extendAgain).UnixMicro())
	first := partitionOf(now)
	var missing []Partition
	err := s.InTx(ctx, pg.BeginRead, func(t pg.Session) error {
		existing, err := s.Partitions(ctx, t)
		missing = absent(first, existing)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range missing {
		if err := s.makePartition(ctx, p); err != nil {
			return err
		}
	}
	s.horizon.Store(first.Start.Add((DaysAhead + 1) * pg.Day).UnixMicro())
	return nil
}

// absent returns those of the wanted partitions, from first on, that do not exist, or not all of
// them.
func absent(first Partition, existing Days) (missing []Partition) {
	for n := range DaysAhead + 1 {
		if p := (Partition{first.Start.Add(time.Duration(n) * pg.Day)}); len(existing.missing(p)) > 0 {
			missing = append(missing, p)
		}
	}
	return missing
}

// makePartition makes one partition. Locks are waited for only for a moment: everybody else would
// queue up behind.
func (s *Tables) makePartition(ctx context.Context, p Partition) error {
	const around = "partition_make_around"
	create := func(script string) error {
		return s.InTx(ctx, pg.BeginBulk, func(t pg.Session) error {
			if err := t.Exec(ctx, "SET LOCAL lock_timeout = '5s'"); err != nil {
				return err
			}
			if _, err := t.Tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", s.LockKey("partitions")); err != nil {
				return err
			}
			existing, err := s.Partitions(ctx, t)
			missing := existing.missing(p)
			if err != nil || len(missing) == 0 {
				return err
			}
			if err := t.Exec(ctx, "SET LOCAL lock_timeout = '500ms'"); err != nil {
				return err
			}
			if err := t.Exec(ctx, s.Scripts(script, missing, p)); err != nil || script != around || !slices.Contains(missing, "job") {
				return err
			}
			_, err = t.Tx.Exec(ctx, s.Script("partition_lanes", "job", p), pgx.QueryExecModeExec, s.Today())
			return err
		})
	}
	err := create("partition_make")
	if pg.CodeOf(err) == "23514" { // the default partition has rows of that day
		err = create(around)
	}
	return err
}
