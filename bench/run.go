package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdfastdev/holdfast/bench/internal/figures"
	"github.com/holdfastdev/holdfast/bench/internal/measure"
	"github.com/holdfastdev/holdfast/bench/internal/ours"
	"github.com/holdfastdev/holdfast/bench/internal/scenario"
	"github.com/holdfastdev/holdfast/bench/internal/system"
)

// bench is a run of the command.
type bench struct {
	settings
	self      measure.Program
	databases *databases
	table     io.Writer       // nil: none
	lines     io.Writer       // nil: none
	told      map[string]bool // the stores and systems whose settings were printed
	failures  []error
}

func run(ctx context.Context, s settings, out io.Writer) (err error) {
	b := &bench{settings: s, table: out, told: map[string]bool{}}
	if b.self.Path, err = os.Executable(); err != nil {
		return err
	}
	switch s.json {
	case "":
	case "-":
		b.table, b.lines = nil, out
	default:
		//nolint:gosec // results are for everybody to read
		file, err := os.OpenFile(s.json, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		b.lines = file
	}
	if b.databases, err = prepare(ctx, s); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.databases.close(context.WithoutCancel(ctx))) }()
	for _, store := range s.stores {
		for _, sc := range s.scenarios {
			if !sc.On(store) {
				continue
			}
			if err := b.scenario(ctx, sc, store); err != nil {
				return fmt.Errorf("%s on %s: %w", sc.Name, store, err)
			}
		}
	}
	return errors.Join(b.failures...)
}

// systemsOf are the systems that a scenario compares on a store, ours first.
func (b *bench) systemsOf(sc scenario.Scenario, store string) []string {
	list := []string{ours.Name}
	peers := sc.Peers[store]
	if b.quick && b.peers == nil {
		peers = peers[:min(len(peers), 1)]
	}
	for _, name := range peers {
		if b.peers == nil || slices.Contains(b.peers, name) {
			list = append(list, name)
		}
	}
	return list
}

// scenario runs one scenario on one store: all systems in turn, round after round.
func (b *bench) scenario(ctx context.Context, sc scenario.Scenario, store string) error {
	systems := b.systemsOf(sc, store)
	rows := make([]figures.Row, len(systems))
	for i, name := range systems {
		rows[i].System = name
	}
	rounds := b.rounds
	if sc.Once {
		rounds = 1
	}
	m := sc.MeasureOf(store)
	failed := make([]bool, len(systems))
	for round := range rounds {
		for i, name := range systems {
			if failed[i] {
				continue
			}
			began := time.Now()
			answer, err := b.measure(ctx, sc, store, name)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				// The others can be measured all the same.
				failed[i] = true
				err = fmt.Errorf("%s on %s with %s: %w", sc.Name, store, name, err)
				fmt.Fprintln(os.Stderr, "bench:", err)
				b.failures = append(b.failures, err)
				continue
			}
			rows[i].Samples = append(rows[i].Samples, answer.Sample)
			b.progress(sc, store, name, round, m, answer.Sample, time.Since(began))
			if err := b.record(sc, store, name, round, m, answer); err != nil {
				return err
			}
		}
	}
	for i := range rows {
		first := &rows[0]
		if i == 0 {
			first = nil
		}
		if b.lines != nil {
			if err := figures.WriteLine(b.lines, figures.Summarize(sc.Name, store, m, rows[i], first)); err != nil {
				return err
			}
		}
	}
	if b.table == nil {
		return nil
	}
	return figures.WriteTable(b.table, fmt.Sprintf("%s: %s, %s", sc.Name, sc.Title, store), m, rows)
}

// measureTimeout bounds one measurement beyond what its sizes say.
const measureTimeout = 2 * time.Hour

// measure runs one scenario once with one system.
func (b *bench) measure(ctx context.Context, sc scenario.Scenario, store, name string) (answer measure.Answer, err error) {
	spec := measure.Spec{System: name, Scenario: sc.Name, Sizes: b.sizesFor(name)}
	for range sc.Parts {
		db, remove, failed := b.databases.create(ctx, store)
		if failed != nil {
			return answer, failed
		}
		defer func() { err = errors.Join(err, remove(context.WithoutCancel(ctx))) }()
		spec.Databases = append(spec.Databases, db)
	}
	program := b.self
	if store == system.SQLite && (name == scenario.River || name == scenario.RiverDefault) {
		if b.sqlite == "" {
			return answer, errors.New("no program measures River on SQLite: --river-sqlite, that of bench/riversqlite; ./bench/run builds it")
		}
		program = measure.Program{Path: b.sqlite}
	}
	ctx, cancel := context.WithTimeout(ctx, measureTimeout)
	defer cancel()
	return program.Measure(ctx, spec)
}

// defaultSlowness is by how much less River does at its defaults, which allow a thousand jobs a
// second.
const defaultSlowness = 10

func (b *bench) sizesFor(name string) scenario.Sizes {
	sizes := b.sizes
	if name == scenario.RiverDefault {
		sizes.Jobs = max(sizes.Jobs/defaultSlowness, 1)
	}
	return sizes
}

// progress tells people what has just been measured.
func (b *bench) progress(
	sc scenario.Scenario, store, name string, round int, m figures.Measure, s figures.Sample, took time.Duration,
) {
	fmt.Fprintf(os.Stderr, "%-16s %-8s %-13s round %d: %s %s (took %.1f s)\n",
		sc.Name, store, name, round+1, figures.Format(s.Figures[m.Figure]), m.Unit, took.Seconds())
}

// record writes the JSON line of a measurement, and the versions and settings above a table where
// they are new.
func (b *bench) record(sc scenario.Scenario, store, name string, round int, m figures.Measure, a measure.Answer) error {
	if b.commit != "" {
		a.Versions["holdfast"] = b.commit
	}
	if b.table != nil {
		if err := b.tell(store, name, a); err != nil {
			return err
		}
	}
	if b.lines == nil {
		return nil
	}
	return figures.WriteLine(b.lines, figures.Record{
		Schema: figures.SchemaVersion, Time: time.Now().UTC(), Scenario: sc.Name, Store: store, System: name, Round: round + 1,
		Measure: m, Sizes: b.sizesFor(name), Versions: a.Versions, Settings: a.Settings, Sample: a.Sample,
	})
}

// tell prints the versions and settings of a system before its first table on a store.
func (b *bench) tell(store, name string, a measure.Answer) error {
	var text string
	if !b.told[store] {
		text = "## " + store + "\n\n"
	}
	if !b.told[store+" "+name] {
		versions := maps.Clone(a.Versions)
		maps.DeleteFunc(versions, func(module, _ string) bool {
			return strings.Contains(module, "/river") && !strings.HasPrefix(name, scenario.River)
		})
		text += name + ": " + describe(versions) + "; " + describe(a.Settings) + "\n\n"
	}
	b.told[store], b.told[store+" "+name] = true, true
	_, err := io.WriteString(b.table, text)
	return err
}

// describe lists names and values.
func describe(values map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		parts = append(parts, name+" "+values[name])
	}
	return strings.Join(parts, ", ")
}
