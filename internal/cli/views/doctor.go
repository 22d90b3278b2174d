package views

import (
	"github.com/holdfastdev/holdfast/store"
)

// Doctor is what an examination of a database has found.
type Doctor struct {
	Database string          `json:"database"`
	Worst    string          `json:"worst"` // the severity of the worst finding
	Findings []DoctorFinding `json:"findings"`
}

// DoctorFinding is what was found of one thing.
type DoctorFinding struct {
	Check    string `json:"check"`
	Severity string `json:"severity"` // ok, note, warning or problem
	Text     Text   `json:"text"`
	Do       Text   `json:"do"` // what to do
}

// NewDoctor returns the view of findings.
func NewDoctor(database string, worst store.Severity, findings []store.Finding) Doctor {
	v := Doctor{Database: database, Worst: worst.String(), Findings: []DoctorFinding{}}
	for _, f := range findings {
		v.Findings = append(v.Findings, DoctorFinding{f.Check, f.Severity.String(), Text(f.Text), Text(f.Do)})
	}
	return v
}
