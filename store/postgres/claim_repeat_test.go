package postgres_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/postgres"
)

// TestARepeatThatArrivesLate: the same claim was repeated twice. Once its jobs are done nothing but
// its number tells that it happened.
func TestARepeatThatArrivesLate(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	jobs := several(4)
	enqueue(t, c.store, jobs...)
	params := demand(c.node, 20, 2)
	if runs, err := c.store.Claim(t.Context(), params); err != nil || len(runs) != 2 {
		t.Fatal(len(runs), err)
	}
	params.Repeat = true
	for _, want := range []int{2, 0} {
		runs, err := c.store.Claim(t.Context(), params)
		if err != nil || len(runs) != want {
			t.Fatalf("a repeat returned %d jobs, %v", len(runs), err)
		}
		out := &store.Batch{}
		for _, run := range runs {
			out.Outcomes = append(out.Outcomes, completed(run))
		}
		if err := store.ApplyEach(t.Context(), c.store, out); err != nil {
			t.Fatal(err)
		}
	}
	c.seq = 20
	c.want("the next claim", jobs[2:]...)
}

// TestARepeatFindsBothParts of a claim that looked at what it knew, and then at everything: the
// answer to the second part was lost.
func TestARepeatFindsBothParts(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 5)
	known, unknown := several(8), several(5, inQueue("new", 2))
	enqueue(t, c.store, known...)
	c.want("a claim that leaves floors", known[:5]...)
	enqueue(t, c.other, unknown...)
	params := demand(c.node, 100, 100)
	mend := postgres.Break(c.store, "lanes_by_id")
	if runs, err := c.store.Claim(t.Context(), params); err == nil {
		t.Fatalf("claimed %d jobs, although what else was taken is not known", len(runs))
	}
	mend()
	params.Repeat = true
	runs, err := c.store.Claim(t.Context(), params)
	if err != nil || len(runs) != 8 {
		t.Fatalf("the repeat found %d jobs, %v", len(runs), err)
	}
	for i, q := range slices.Concat(known[5:], unknown) {
		if runs[i].Job.ID != q.Job.ID {
			t.Errorf("the repeat found %v at %d, want %v", runs[i].Job.ID, i, q.Job.ID)
		}
	}
}

// TestAConflictOfTheSecondPart: PostgreSQL ends the second part of a claim, because two
// transactions were in each other's way. It is repeated, and the first part is not.
func TestAConflictOfTheSecondPart(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	c := newClaimer(t, config, 5)
	known, unknown := several(8), several(5, inQueue("new", 2))
	enqueue(t, c.store, known...)
	c.want("a claim that leaves floors", known[:5]...)
	enqueue(t, c.other, unknown...)
	for _, sql := range []string{
		"CREATE SEQUENCE {schema}.claims",
		`CREATE FUNCTION {schema}.collide() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			IF nextval('{schema}.claims') = 2 THEN
				RAISE EXCEPTION 'as if' USING ERRCODE = '40P01';
			END IF;
			RETURN NEW;
		END $$`,
		"CREATE TRIGGER collide BEFORE INSERT ON {schema}.claim FOR EACH ROW EXECUTE FUNCTION {schema}.collide()",
	} {
		if _, err := connect(t, config.URL).Exec(t.Context(), strings.ReplaceAll(sql, "{schema}", config.SchemaName)); err != nil {
			t.Fatal(err)
		}
	}
	c.limit = 100
	c.want("both parts", slices.Concat(known[5:], unknown)...)
}

// TestARepeatThatIsOvertaken: the repeat finds no trace of the claim, and then waits for its node,
// which the claim has locked. The claim commits, and the repeat, which takes other jobs, finds the
// number used.
func TestARepeatThatIsOvertaken(t *testing.T) {
	t.Parallel()
	config := used(t, nil)
	c := newClaimer(t, config, 2)
	jobs := several(4)
	enqueue(t, c.store, jobs...)
	observer := connect(t, config.URL)
	inSchema := func(sql string) string { return strings.ReplaceAll(sql, "{schema}", config.SchemaName) }
	exec := func(sql string) {
		t.Helper()
		if _, err := observer.Exec(t.Context(), inSchema(sql)); err != nil {
			t.Fatal(err)
		}
	}
	exec("CREATE SEQUENCE {schema}.claims")
	exec(`CREATE FUNCTION {schema}.linger() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		IF nextval('{schema}.claims') = 1 THEN
			WHILE NOT pg_try_advisory_xact_lock(hashtext('{schema}')) LOOP
				PERFORM pg_sleep(0.01);
			END LOOP;
		END IF;
		RETURN NEW;
	END $$`)
	exec("CREATE TRIGGER linger BEFORE INSERT ON {schema}.claim FOR EACH ROW EXECUTE FUNCTION {schema}.linger()")
	exec("SELECT pg_advisory_lock(hashtext('{schema}'))")
	answers := make(chan []store.ID, 2)
	claim := func(repeat bool) {
		params := demand(c.node, 20, 2)
		params.Repeat = repeat
		runs, err := c.store.Claim(context.Background(), params)
		if err != nil {
			t.Errorf("Claim, repeated %t: %v", repeat, err)
		}
		var ids []store.ID
		for _, run := range runs {
			ids = append(ids, run.Job.ID)
		}
		answers <- ids
	}
	go claim(false)
	eventually(t, "the claim has locked its node", func() bool {
		return value[bool](t, observer, inSchema("SELECT is_called FROM {schema}.claims"))
	})
	go claim(true)
	eventually(t, "the repeat waits for the node", func() bool {
		return value[bool](t, observer, inSchema(`SELECT EXISTS (
			SELECT FROM pg_locks w JOIN pg_locks h USING (transactionid) JOIN pg_locks r ON r.pid = h.pid
			WHERE NOT w.granted AND h.granted AND r.relation = '{schema}.claim'::regclass
		)`))
	})
	exec("SELECT pg_advisory_unlock(hashtext('{schema}'))")
	for range 2 {
		if got, want := <-answers, idsOf(jobs[:2]); !slices.Equal(got, want) {
			t.Errorf("claimed %v, want %v", got, want)
		}
	}
}

// TestAPartThatArrivesLate takes nothing once its claim was repeated.
func TestAPartThatArrivesLate(t *testing.T) {
	t.Parallel()
	c := newClaimer(t, used(t, nil), 2)
	jobs := several(4)
	enqueue(t, c.store, jobs[:2]...)
	params := demand(c.node, 20, 100)
	for _, params.Repeat = range []bool{false, true} {
		if runs, err := c.store.Claim(t.Context(), params); err != nil || len(runs) != 2 {
			t.Fatal(len(runs), err)
		}
	}
	enqueue(t, c.store, jobs[2:]...)
	c.seq = 1
	c.want("a late part") // with number 21
	c.want("the next claim", jobs[2:]...)
}

// TestAnIdleClaimIsOneRoundTrip: a claim that finds nothing where there was work looks at
// everything once. Then it knows that there is nothing, and those that follow ask once.
func TestAnIdleClaimIsOneRoundTrip(t *testing.T) {
	t.Parallel()
	s, count := tripping(t, fresh(t))
	node, seq := join(t, s), int64(0)
	claim := func(want int) int64 {
		seq += 10
		count.n.Store(0)
		runs, err := s.Claim(t.Context(), demand(node, seq, 100))
		if err != nil || len(runs) != want {
			t.Fatalf("%d jobs were claimed, want %d: %v", len(runs), want, err)
		}
		return count.n.Load()
	}
	enqueue(t, s, several(100)...)
	claim(100) // a full one, which leaves a cursor
	claim(0)
	for i := range 5 {
		if n := claim(0); n != 1 {
			t.Errorf("claim %d of nothing was %d round trips", i, n)
		}
	}
}
