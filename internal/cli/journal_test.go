package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
	"github.com/holdfastdev/holdfast/internal/cli/views"
)

// TestJournalOfWhatDoesNotDecode: it shows which message it was, and the error.
func TestJournalOfWhatDoesNotDecode(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, time.March, 4, 5, 6, 7, 0, time.UTC)
	var rows []string
	for line := range views.InTurn(
		[]holdfast.JournalEntry{
			{Seq: 1, At: at, Kind: "received", Path: "1", Name: "number", Message: 1},
			{Seq: 2, At: at, Kind: "received", Name: "number", Message: 2, Data: json.RawMessage(`{"problem":"into int"}`)},
		},
		[]holdfast.JournalMessage{
			{Seq: 1, At: at, Kind: "signal", Name: "number", Data: json.RawMessage(`7`)},
			{Seq: 2, At: at, Kind: "signal", Name: "number", Data: json.RawMessage(`"six"`), Problem: "into int"},
			{Seq: 3, At: at, Kind: "signal", Name: "number", Data: json.RawMessage(`8`), Unread: true},
		},
	) {
		row := line.Row(true)
		rows = append(rows, row[0]+" "+row[len(row)-1])
	}
	want := `m1 7|m2 (does not decode) "six"|m3 (unread) 8|1 message m1|2 message m2 {"problem":"into int"}`
	if got := strings.Join(rows, "|"); got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}
