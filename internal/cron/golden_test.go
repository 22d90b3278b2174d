package cron

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// golden compares a text with a file of testdata, or writes it with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	file = "testdata/" + file
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		if i >= len(gotLines) || i >= len(wantLines) || gotLines[i] != wantLines[i] {
			t.Fatalf("line %d is not as in %s:\n%s\nwant\n%s", i+1, file, strings.Join(gotLines[min(i, len(gotLines)):], "\n"),
				strings.Join(wantLines[min(i, len(wantLines)):], "\n"))
		}
	}
}

// TestStored has the texts that databases hold. A line that is in the file stays as it is: new ones
// are added at the end.
func TestStored(t *testing.T) {
	var file strings.Builder
	add := func(s Spec) {
		fmt.Fprintln(&file, s)
		again, err := Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Errorf("%s is read as %s, %v", s, again, err)
		}
	}
	for _, text := range []string{
		"* * * * *", "0 * * * * *", "*/15 0 0-23/1 * * *", "05 7/2 * * *", "0 0 1-7,L,L-3,15W,LW jan-Mar ?", "0 0 ? 4,6 mon-SUN", "0 0 * * 7",
		"0 0 * * 7#1,FRIL", "H H * * *", "H(0-29)/10 h/6 H */2 H", "@hourly", "@weekly", "@every 90s", "@every 1.5s", //nolint:dupword // fields
	} {
		add(mustCron(t, text, Options{Seed: `daily "report"`, Zone: "Europe/Berlin"}))
	}
	add(mustCron(t, "0 9 * * *", Options{DST: Skip, Seed: "not needed"}))
	add(mustCron(t, "H 9 * * *", Options{DST: Skip, Seed: "ä\x00\n zone="}))
	for _, anchor := range []string{"1970-01-01", "2026-03-01T09:30+01:00", "1969-12-31T23:59:59.999999Z"} {
		every, errEvery := Every(25*time.Hour, when(t, anchor), "Asia/Tokyo")
		at, errAt := At(when(t, anchor).Add(999), "Asia/Tokyo")
		if errEvery != nil || errAt != nil {
			t.Fatal(errEvery, errAt)
		}
		add(every)
		add(at)
	}
	golden(t, "stored.golden", file.String())
}

func expressionOf(t *testing.T, s Spec) *expression {
	t.Helper()
	e, ok := s.rule.(*expression)
	if !ok {
		t.Fatalf("%s is no expression", s)
	}
	return e
}

// TestHash has what is made of names, which decides when schedules fire: it never changes.
func TestHash(t *testing.T) {
	var file strings.Builder
	for _, name := range []string{"a", "b", "daily report", "日報"} {
		s := mustCron(t, "H H H H H H", Options{Seed: name}) //nolint:dupword // fields
		e := expressionOf(t, s)
		fmt.Fprintf(&file, "%s: H is %b %b %b %b %b %b\n", name, e.second, e.minute, e.hour, e.days.dom, e.days.months, e.days.dow)
		s = mustCron(t, "H/7 H/20 H(9-17) H/10 * *", Options{Seed: name})
		e = expressionOf(t, s)
		fmt.Fprintf(&file, "%s: H/7 is %b, H/20 %b, H(9-17) %b, H/10 %b\n", name, e.second, e.minute, e.hour, e.days.dom)
		for _, at := range []string{"1970-01-01", "2026-03-01", "2026-03-02"} {
			fmt.Fprintf(&file, "%s: jitter at %s is %v\n", name, at, Jitter(name, when(t, at), time.Hour))
		}
	}
	golden(t, "hash.golden", file.String())
}

// TestWords has what people are told.
func TestWords(t *testing.T) {
	var file strings.Builder
	for _, text := range []string{
		"30 9 * * MON-FRI", "0 0 * * *", "30 9,17 * * *", "0,30 9-10 * * *", "15 30 9 * * *",
		"*/20 30 9 * * *", "0 22 * * 6,0", "0 8 * * MON,WED", "* * * * *", "*/5 * * * *", "3/15 * * * *",
		"*/7 * * * *", "0,15,30,45 * * * *", "0 * * * *", "15 * * * *", "5,35 * * * *", "0-10,30 * * * *",
		"0 */2 * * *", "0 1/6 * * *", "0 */5 * * *", "0 9-17 * * MON-FRI", "15 9-17 * * *",
		"*/10 9-17 * * 1-5", "*/10 9 * * *", "*/10 */2 * * *", "*/10 1,5,7 * * *", "20 */3 * * *",
		"20 */12 * * *", "5,10,15 1,5,7 * * *", "* 9 * * *", "* * * * * *", "*/10 * * * * *", "15 * * * * *",
		"15,20 */5 * * * *", "*/30 5 * * * *", "*/10 1-10 9-17 * * *", "7/20 3/15 2,3 * * *", "0 0 0 * * *",
		"0 9 1 * *", "0 9 1,15 * *", "0 9 1-7 * *", "0 9 */2 * *", "0 9 5/10 * *", "0 9 L * *",
		"0 9 L-3,LW * *", "0 9 15W,L 6 *", "0 9 2,3,21,22,23 * *", "0 9 * 1,7 *", "0 9 * 6-8 *",
		"0 9 * 1-3,12 MON", "0 9 * * FRIL", "0 9 * * MON#2,TUE#3", "0 9 ? 6 MON,FRIL", "0 9 13 * FRI",
		"0 9 13 6 FRIL", "0 9 */2 * MON,WED", "0 9 L * */3", "*/5 * 24 12 *", "0 9 1-31 * MON",
		"0 9 25 12 *", "H H * * *", "H/15 * * * *", "@every 90s", "@every 1h", "@every 36h", "@every 1h1s", //nolint:dupword // fields
		"@every 1.5s",
	} {
		fmt.Fprintf(&file, "%-25s %s\n", text, mustCron(t, text, Options{Seed: "report", Zone: "Europe/Berlin"}).Words())
	}
	for _, text := range []string{"0 2 * * *", "*/5 2 * * *"} {
		fmt.Fprintf(&file, "%-25s %s\n", text+" dst=skip", mustCron(t, text, Options{DST: Skip}).Words())
	}
	at, errAt := At(when(t, "2026-03-01T08:00:00.25Z"), "Europe/Berlin")
	every, errEvery := Every(24*time.Hour, when(t, "2026-03-01T08:00:00Z"), "Europe/Berlin")
	if errAt != nil || errEvery != nil {
		t.Fatal(errAt, errEvery)
	}
	for _, s := range []Spec{at, every, {}} {
		fmt.Fprintf(&file, "%s: %s\n", s, s.Words())
	}
	golden(t, "words.golden", file.String())
}

// TestNotes has how schedules are affected by the next change that does affect them.
func TestNotes(t *testing.T) {
	var file strings.Builder
	for _, c := range []struct{ text, zone, after string }{
		{"30 2 * * *", "America/New_York", "2026-01-01"},
		{"30 1 * * *", "America/New_York", "2026-01-01"},
		{"30 2 * * *", "America/New_York", "2026-03-08"}, // a second after the change it is about the next year
		{"30 2 * * *", "America/New_York", "2026-03-08T07:00:00Z"},
		{"0,15,45 2 * * *", "America/New_York", "2026-01-01"},
		{"0-59 1 * * *", "America/New_York", "2026-03-09"},
		{"*/5 * * * *", "America/New_York", "2026-01-01"},
		{"*/30 * * * *", "Australia/Lord_Howe", "2026-01-01"},
		{"0 * * * *", "Australia/Lord_Howe", "2026-01-01"},
		{"45 * * * *", "Australia/Lord_Howe", "2026-06-01"},
		{"*/5 2 * * *", "America/New_York", "2026-01-01"},
		{"0 */2 * * *", "America/New_York", "2026-01-01"},
		{"0 1/2 * * *", "America/New_York", "2026-01-01"},
		{"*/20 * * * MON-FRI", "Africa/Cairo", "2026-01-01"},
		{"*/20 * * * MON-THU", "Africa/Cairo", "2026-01-01"},
		{"* 30 2 * * *", "America/New_York", "2026-01-01"},
		{"0 0 * * *", "America/Havana", "2026-01-01"},
		{"30 0 * * *", "America/Havana", "2026-06-01"},
		{"0 9 * * *", "Pacific/Apia", "2011-11-01"},
		{"45 23 * * *", "Asia/Pyongyang", "2018-01-01"},
		{"30 23 * * *", "America/Sao_Paulo", "2018-01-01"},
		{"30 2 31 3 *", "Europe/Berlin", "2026-01-01"},
		{"30 2 1 1 *", "Europe/Berlin", "2026-01-01"},
		{"30 2 * * *", "Asia/Tokyo", "2026-01-01"},
		{"@every 1h", "Europe/Berlin", "2026-01-01"},
	} {
		for _, dst := range []DST{Run, Skip} {
			s := mustCron(t, c.text, Options{Zone: c.zone, DST: dst})
			n, ok := s.Note(when(t, c.after))
			if dst == Skip && n.Effect != Skipped {
				continue
			}
			fmt.Fprintf(&file, "%s after %s: ", s, c.after)
			if !ok {
				fmt.Fprintln(&file, "nothing")
				continue
			}
			fmt.Fprintf(&file, "%s, %s\n\t%s\n", n.At.Format(time.RFC3339), n.Effect, n.Text)
		}
	}
	golden(t, "notes.golden", file.String())
}
