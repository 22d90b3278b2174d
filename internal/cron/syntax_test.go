package cron

import (
	"errors"
	"strings"
	"testing"
)

// TestSyntax has each element of the language: an expression in UTC, and its first times from the
// first of March 2026, a Sunday. A time of 00:00 is left out.
func TestSyntax(t *testing.T) {
	for text, want := range map[string]string{
		"* * * * *":           "03-01 03-01T00:01 03-01T00:02",
		"* * * * * *":         "03-01 03-01T00:00:01",
		"*/20 1 2 * * *":      "03-01T02:01 03-01T02:01:20 03-01T02:01:40 03-02T02:01",
		"15,45 30 4 1 4 *":    "04-01T04:30:15 04-01T04:30:45",
		"0 0 1 1 *":           "2027-01-01 2028-01-01",
		"  5\t 00  * *  * ":   "03-01T00:05 03-02T00:05",
		"5-7 0 * * *":         "03-01T00:05 03-01T00:06 03-01T00:07 03-02T00:05",
		"5-5 0 * * *":         "03-01T00:05 03-02T00:05",
		"*/1 0 1 3 *":         "03-01 03-01T00:01",
		"*/25 0 * * *":        "03-01 03-01T00:25 03-01T00:50 03-02",
		"10-50/25 0 * * *":    "03-01T00:10 03-01T00:35 03-02T00:10",
		"30/25 0 * * *":       "03-01T00:30 03-01T00:55 03-02T00:30",
		"0 22-23,0-1 * * *":   "03-01 03-01T01:00 03-01T22:00 03-01T23:00 03-02",
		"0 0 * jan,Jun-JUL *": "06-01 06-02",
		"0 0 1 */5 *":         "06-01 11-01 2027-01-01",
		"0 0 * * mon-FRI":     "03-02 03-03 03-04 03-05 03-06 03-09",
		"0 0 * * 0":           "03-01 03-08",
		"0 0 * * 7":           "03-01 03-08",
		"0 0 * * 5-7":         "03-01 03-06 03-07 03-08",
		"0 0 * * SAT-SUN":     "03-01 03-07 03-08",
		"0 0 * * SUN-MON":     "03-01 03-02 03-08",
		"0 0 * * 7-1":         "03-01 03-02 03-08",
		"0 0 * * 0-7":         "03-01 03-02",
		"0 0 * * 7/3":         "03-01 03-04 03-07 03-08",
		"0 0 13 * FRI":        "03-06 03-13 03-20 03-27 04-03 04-10 04-13",
		"0 0 */2 * MON":       "03-09 03-23 04-13",
		"0 0 13 * */5":        "03-13 09-13 11-13", // Friday is 5, and Sunday is 0
		"0 0 1-31 * MON":      "03-01 03-02",
		"0 0 13 * ?":          "03-13 04-13",
		"0 0 ? * TUE":         "03-03 03-10",
		"0 0 ? * ?":           "03-01 03-02",
		"0 0 L * *":           "03-31 04-30 05-31",
		"0 0 L 2 *":           "2027-02-28 2028-02-29",
		"0 0 L-3 * *":         "03-28 04-27",
		"0 0 L-30 * *":        "03-01 05-01 07-01",
		"0 0 L,15 * *":        "03-15 03-31 04-15",
		"0 0 15W * *":         "03-16 04-15 05-15 06-15 07-15 08-14",
		"0 0 1W * *":          "03-02 04-01 05-01 06-01 07-01 08-03",
		"0 0 31W * *":         "03-31 05-29 07-31 08-31",
		"0 0 LW * *":          "03-31 04-30 05-29",
		"0 0 * * 5L":          "03-27 04-24",
		"0 0 * * fril":        "03-27 04-24",
		"0 0 * * 7L":          "03-29 04-26",
		"0 0 * * MON#2":       "03-09 04-13",
		"0 0 * * 7#1,SUN#5":   "03-01 03-29 04-05",
		"0 0 L * FRIL":        "03-27 03-31 04-24 04-30",
		"0 0 29 2 *":          "2028-02-29 2032-02-29",
		"0 0 ? 2 MON#5":       "2044-02-29 2072-02-29 2112-02-29",
		"@yearly":             "2027-01-01 2028-01-01",
		"@ANNUALLY":           "2027-01-01",
		"@monthly":            "03-01 04-01",
		"@weekly":             "03-01 03-08",
		"@daily":              "03-01 03-02",
		"@Midnight":           "03-01 03-02",
		"@hourly":             "03-01 03-01T01:00",
		"@every 36h":          "03-02 03-03T12:00 03-05", // since 1970
		"@every  1m30s":       "03-01 03-01T00:01:30",
	} {
		s, err := Cron(text, Options{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var times []string
		for short := range strings.FieldsSeq(want) {
			day, clock, _ := strings.Cut(short, "T")
			if len(day) == 5 {
				day = "2026-" + day
			}
			times = append(times, day+"T"+(clock+"00:00:00"[min(len(clock), 8):])+"Z")
		}
		checkFirst(t, s, times)
	}
}

// checkFirst compares the first times from March 2026 on.
func checkFirst(t *testing.T, s Spec, want []string) {
	t.Helper()
	at := when(t, "2026-03-01").Add(-1)
	for i, text := range want {
		next, ok := s.Next(at)
		if !ok || !next.Equal(when(t, text)) {
			t.Errorf("%s: time %d is %v, %v, want %s", s, i, next, ok, text)
			return
		}
		at = next
	}
}

// TestRefused has what is no schedule, and a part of what is said about it.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "has 0 fields; want five, which are minute, hour",
		"* * * *":                              "has 4 fields",
		"0 * * * * * 2026":                     "a year is not one of them",
		"60 * * * *":                           `minute "60": want 0 to 59`,
		"-1 * * * *":                           `minute "-1"`,
		"+1 * * * *":                           `minute "+1"`,
		"1.5 * * * *":                          `minute "1.5"`,
		"٣ * * * *":                            `minute "٣"`,
		"0001 * * * *":                         `minute "0001"`,
		"1,,2 * * * *":                         `minute ""`,
		"1- * * * *":                           `minute "1-"`,
		"1-2-3 * * * *":                        `minute "1-2-3"`,
		"60 0 * * * *":                         `second "60"`,
		"0 24 * * *":                           `hour "24": want 0 to 23`,
		"0 ? * * *":                            `hour "?"`,
		"0 L * * *":                            `hour "L"`,
		"0 22-6 * * *":                         `hour "22-6": runs backwards; write 22-23,0-6`,
		"0 0 0 * *":                            `day of the month "0": want 1 to 31`,
		"0 0 32 * *":                           "1 to 31",
		"0 0 L-31 * *":                         `"L-31"`,
		"0 0 L-0 * *":                          `"L-0"`,
		"0 0 W * *":                            `"W"`,
		"0 0 32W * *":                          `"32W"`,
		"0 0 L/2 * *":                          `"L"`,
		"0 0 1,? * *":                          "? stands alone",
		"0 0 * 13 *":                           `month "13": want 1 to 12, JAN to DEC`,
		"0 0 * FOO *":                          `month "FOO"`,
		"0 0 * MON *":                          `month "MON"`,
		"0 0 * * 8":                            `weekday "8": want 0 to 7`,
		"0 0 * * L":                            "write SAT for Saturdays, or FRIL",
		"0 0 * * MON#6":                        `"MON#6"`,
		"0 0 * * MON#0":                        `"MON#0"`,
		"0 0 * * #1":                           `"#1"`,
		"0 0 * * FRI-MON":                      "runs backwards; write 5-6,0-1",
		"0 0 * * MONDAY":                       `weekday "MONDAY"`,
		"*/0 * * * *":                          "want a step from 1 to 59",
		"*/x * * * *":                          "want a step from 1 to 59",
		"*/ * * * *":                           "want a step from 1 to 59",
		"*/5/5 * * * *":                        "want a step from 1 to 59",
		"?/2 * * * *":                          `minute "?"`,
		"0 0 ?/2 * *":                          "want a step",
		"*/90 * * * *":                         "for every 90 minutes write @every",
		"0 */24 * * *":                         "at most 23",
		"H * * * *":                            "is spread by the name of the schedule, and none is given",
		"0 H(1-2 * * *":                        "want H(a-b)",
		"0 H(3) * * *":                         `hour "H(3)"`,
		"0 H(5-3) * * *":                       "runs backwards",
		"0 H(0-24) * * *":                      "want 0 to 23",
		"@reboot":                              "want @yearly",
		"@daily 5":                             "want @yearly",
		"@every":                               "want a duration",
		"@every 1d":                            "want a duration, such as 90s",
		"@every -5s":                           "a second at least",
		"@every 999ms":                         "a second at least",
		"@every 1s1ns":                         "whole microseconds",
		"CRON_TZ=Asia/Tokyo 0 9 * * *":         `give the zone beside the expression: the zone "Asia/Tokyo", and "0 9 * * *"`,
		"TZ=UTC  @daily":                       `the zone "UTC", and "@daily"`,
		strings.Repeat("1,", 300) + " * * * *": "at most 500",
		"ÄÖ\x00\xff * * * *":                   `\x00`,
	} {
		_, err := Cron(text, Options{})
		var wrong *SyntaxError
		if !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestImpossible(t *testing.T) {
	for _, text := range []string{
		"0 0 30 2 *", "0 0 31 2 *", "0 0 31 4,6,9,11 *", "* * * 30-31 FEB ?", "0 0 31W 2 *", "0 0 L-29 2 *", "0 0 30 2 */2", "0 0 30/1 2 *",
	} {
		_, err := Cron(text, Options{Seed: "name"})
		var impossible *ImpossibleError
		if !errors.As(err, &impossible) || impossible.Expression != text {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{"0 0 30 2 MON", "0 0 29 2 */6", "0 0 29W 2 *", "0 0 L-28 2 *", "0 0 31 4,5 *", "0 0 H 2 *"} {
		mustCron(t, text, Options{Seed: "name"})
	}
}

func TestZones(t *testing.T) {
	for name, want := range map[string]string{
		"Europe/Nowhere":      `zone "Europe/Nowhere": not in the zone database`,
		"PST":                 "give a name of it",
		"Local":               "another zone on each machine",
		"UTC+2":               "not in",
		"../etc/passwd":       "not in",
		"/etc/localtime":      "not in",
		"Europe//Berlin":      "not in",
		"right/Europe/Berlin": "not in",
		"posix/Europe/Berlin": "not in",
		"Europe/Berlin dst":   "not in",
	} {
		_, err := Cron("0 0 * * *", Options{Zone: name})
		_, errEvery := Every(3600e9, when(t, "2026-01-01"), name)
		_, errAt := At(when(t, "2026-01-01"), name)
		for _, err := range []error{err, errEvery, errAt} {
			var unknown *ZoneError
			if !errors.As(err, &unknown) || unknown.Zone != name || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", name, err, want)
			}
		}
	}
	for _, name := range differentZones(t) {
		if at, _ := mustCron(t, "0 0 * * *", Options{Zone: name}).Next(when(t, "2026-03-01")); at.Location().String() != name {
			t.Errorf("%s: the time is %v", name, at)
		}
	}
}
