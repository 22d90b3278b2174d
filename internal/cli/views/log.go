package views

import (
	"strconv"

	"github.com/holdfastdev/holdfast/internal/cli/output"
	"github.com/holdfastdev/holdfast/joblog"
)

// LogColumns are the columns of the table of what a job has logged.
var LogColumns = []output.Column{
	{Name: "WHEN", Width: 24},
	{Name: "ATTEMPT", Width: 7},
	{Name: "LEVEL", Width: 5},
	{Name: "DROPPED", Width: 7},
	{Name: "MESSAGE"},
}

// LogRow formats a line for a table. Its attributes follow its message.
func LogRow(l *joblog.Line) []string {
	dropped, message := "", l.Message
	if l.Dropped > 0 {
		dropped = strconv.FormatInt(l.Dropped, 10)
	}
	if len(l.Attrs) > 0 {
		message += " " + OnOneLine(l.Attrs, 0)
	}
	if l.Cut > 0 {
		message += " (cut: it had " + strconv.Itoa(l.Cut) + " bytes)"
	}
	return []string{output.Clock(l.Time), strconv.Itoa(l.Attempt), l.Level.String(), dropped, message}
}
