package cron

import (
	"archive/zip"
	"crypto/sha256"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	update     = flag.Bool("update", false, "write testdata")
	sweepYears = flag.Int("cron.years", 0, "how many years of each zone TestSweep scans in full; 0: only around changes of the clock")
)

// database is the zone database that time/tzdata is made from.
var database string

// TestMain makes the tests use the database of the Go distribution, not the system's.
func TestMain(m *testing.M) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		panic(err)
	}
	database = filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip")
	if err := os.Setenv("ZONEINFO", database); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// differentZones are the names of all zones, without those that are the same as one before.
func differentZones(t *testing.T) (names []string) {
	t.Helper()
	files, err := zip.OpenReader(database)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	seen := map[[32]byte]bool{}
	for _, f := range files.File {
		if strings.HasSuffix(f.Name, "/") {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if sum := sha256.Sum256(data); !seen[sum] {
			seen[sum] = true
			names = append(names, f.Name)
		}
	}
	if len(names) < 300 {
		t.Fatalf("%s has %d zones", database, len(names))
	}
	return names
}

func mustCron(tb testing.TB, text string, o Options) Spec {
	tb.Helper()
	s, err := Cron(text, o)
	if err != nil {
		tb.Fatalf("%s: %v", text, err)
	}
	return s
}

// when reads a time as tests write it, with or without an offset from UTC.
func when(tb testing.TB, text string) time.Time {
	tb.Helper()
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02 15:04", time.DateOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return at
		}
	}
	tb.Fatalf("%q is not a time", text)
	return time.Time{}
}
