package sqltext_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// rawCodes are numbers where a name should stand: of states, kinds and bits, beside the columns
// that have them.
var rawCodes = regexp.MustCompile(`(?i)` + strings.Join([]string{
	`\b(state|kind|outcome|final|policy|verdict|sort|was_state|before_state)\)?( \+ 0)? *(=|<>|<=?|>=?|(not )?in \(|>>) *[1-9]`,
	`\b(traits|link|marks|unique_states|kinds)\b[^,;=<>]*[&|] *\d`,
	`\b(traits|link|marks|unique_states|kinds)\)? *(>>|<<) *\d`,
	`[&|] *([02-9]|\d\d)`,
	`<< *\d`,
	`\bthen [2-9]`,
	`, *[2-9] *,`,
	`[1-9]\d{9}`,
}, `|`))

// TestNoRawCodes shows that the SQL of the stores says {running} where it means it.
func TestNoRawCodes(t *testing.T) {
	t.Parallel()
	files := filesIn(t, "../..", "*/sql/*.sql", "*/internal/*/sql/*.sql")
	if len(files) < 20 {
		t.Fatalf("%d files", len(files))
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(content), "\n") {
			line, _, _ = strings.Cut(line, "--")
			if code := rawCodes.FindString(line); code != "" {
				t.Errorf("%s:%d has a raw code: %s", file, i+1, code)
			}
		}
	}
}

// TestRawCodesBite shows what is found, and what is not.
func TestRawCodesBite(t *testing.T) {
	t.Parallel()
	for _, sql := range []string{
		"WHERE d.state = 5", "WHERE d.state=5", "state > 6 AND", "kind IN (8, 12, 13)", "kind NOT IN (12, 13)", "a.kind + 0 = 12",
		"link & 4 <> 0",
		"traits & 1 <> 0", "marks >> 3 & 3", "coalesce(marks, 0) | 2", "(b.unique_states >> 8) & 1 = 0", "CASE WHEN x THEN 5 END",
		"due < 9223372036854775807", "marks | (? << 5)", "SELECT id, lane, 5, key",
	} {
		if rawCodes.FindString(sql) == "" {
			t.Errorf("%s has no raw code", sql)
		}
	}
	for _, sql := range []string{
		"state = {waiting}", "(k.done >> t.slot) & 1 = 0", "(d.kinds >> m.kind) & 1 = 1", "SELECT 1 FROM t", "THEN 0 ELSE 1",
		"(1::bigint << n) - 1",
		"traits & {cancel_seen|contradicts} <> 0", "(marks >> {mark_policy}) & {policy_bits} = 0", "(CASE WHEN a THEN b END >> kind) & 1",
	} {
		if code := rawCodes.FindString(sql); code != "" {
			t.Errorf("%s has a raw code: %s", sql, code)
		}
	}
}
