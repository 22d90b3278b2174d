package postgres

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfastdev/holdfast/store"
)

const (
	day = 24 * time.Hour
	// daysAhead is for how many days after today there are partitions. What comes later goes to the default partition.
	daysAhead = 3
	// extendAgain is how long after a failure to make partitions it is tried again.
	extendAgain = 5 * time.Minute
)

// partitioned are the tables that have a partition for each day.
var partitioned = []string{"job", "finished", "attempt", "journal", "inbox"}

func partitionOf(t time.Time) partition { return partition{t.UTC().Truncate(day)} }

func (p partition) end() time.Time { return p.start.Add(day) }

// name is the suffix of its tables.
func (p partition) name() string { return p.start.Format("20060102") }

// bounds are the first id of the day and that of the next one.
func (p partition) bounds() (from, to store.ID) { return firstID(p.start), firstID(p.end()) }

// firstID is the lowest UUIDv7 of a moment, without its version: it sorts below all that have one.
func firstID(t time.Time) (id store.ID) {
	ms := t.UnixMilli()
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	return id
}

// script returns a text of DDL for the partition of a table. It is the only place where a text is made of more than the schema's name;
// what is put in is names of ours, digits, and dashes and letters of ids.
func (s *schemaStore) script(name, table string, p partition) string {
	from, to := p.bounds()
	return strings.NewReplacer("{table}", table, "{day}", p.name(), "{from}", from.String(), "{to}", to.String()).Replace(s.text(name))
}

// scripts is that for several tables.
func (s *schemaStore) scripts(name string, tables []string, p partition) string {
	var b strings.Builder
	for _, table := range tables {
		b.WriteString(s.script(name, table, p) + ";\n")
	}
	return b.String()
}

var partitionName = regexp.MustCompile(`^([a-z]+)_(\d{8})$`)

// missing returns the tables that a day lacks.
func (d days) missing(p partition) []string {
	return slices.DeleteFunc(slices.Clone(partitioned), func(table string) bool { return slices.Contains(d[p], table) })
}

// ofJobs lists the days that have jobs, oldest first.
func (d days) ofJobs() []partition {
	var list []partition
	for p, tables := range d {
		if slices.Contains(tables, "job") {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b partition) int { return a.start.Compare(b.start) })
	return list
}

// partitions lists the partitions.
func (s *schemaStore) partitions(ctx context.Context, t session) (days, error) {
	list := days{}
	tables := make([]string, len(partitioned))
	for i, table := range partitioned {
		tables[i] = pgx.Identifier{s.SchemaName, table}.Sanitize()
	}
	err := t.run(ctx, "partitions", func(r row) error {
		var name string
		if err := r.Scan(&name); err != nil {
			return err
		}
		if m := partitionName.FindStringSubmatch(name); m != nil {
			start, err := time.Parse("20060102", m[2])
			if err != nil {
				return fmt.Errorf("%w: unexpected name of partition %s", store.ErrSchema, name)
			}
			list[partition{start}] = append(list[partition{start}], m[1])
		}
		return nil
	}, tables)
	return list, err
}

// extendPartitions makes the partitions of today and of the days to come, unless they are there. It asks the database once
// a day; several processes may do it at once.
func (s *schemaStore) extendPartitions(ctx context.Context) error {
	now := s.Now()
	if horizon := s.horizon.Load(); now.Add(day).UnixMicro() < horizon && now.Add((daysAhead+2)*day).UnixMicro() > horizon {
		return nil
	}
	// Until this has worked it is not tried with every beat.
	s.horizon.Store(now.Add(day + extendAgain).UnixMicro())
	first := partitionOf(now)
	var missing []partition
	err := s.inTx(ctx, beginRead, func(t session) error {
		existing, err := s.partitions(ctx, t)
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
	s.horizon.Store(first.start.Add((daysAhead + 1) * day).UnixMicro())
	return nil
}

// absent returns those of the wanted partitions, from first on, that do not exist, or not all of them.
func absent(first partition, existing days) (missing []partition) {
	for n := range daysAhead + 1 {
		if p := (partition{first.start.Add(time.Duration(n) * day)}); len(existing.missing(p)) > 0 {
			missing = append(missing, p)
		}
	}
	return missing
}

// makePartition makes one partition. Locks are waited for only for a moment: everybody else would queue up behind.
func (s *schemaStore) makePartition(ctx context.Context, p partition) error {
	const around = "partition_make_around"
	create := func(script string) error {
		return s.inTx(ctx, beginBulk, func(t session) error {
			if err := t.exec(ctx, "SET LOCAL lock_timeout = '5s'"); err != nil {
				return err
			}
			if _, err := t.tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1::bigint)", s.lockKey("partitions")); err != nil {
				return err
			}
			existing, err := s.partitions(ctx, t)
			missing := existing.missing(p)
			if err != nil || len(missing) == 0 {
				return err
			}
			if err := t.exec(ctx, "SET LOCAL lock_timeout = '500ms'"); err != nil {
				return err
			}
			if err := t.exec(ctx, s.scripts(script, missing, p)); err != nil || script != around || !slices.Contains(missing, "job") {
				return err
			}
			_, err = t.tx.Exec(ctx, s.script("partition_lanes", "job", p), pgx.QueryExecModeExec, s.today())
			return err
		})
	}
	err := create("partition_make")
	if codeOf(err) == "23514" { // the default partition has rows of that day
		err = create(around)
	}
	return err
}
