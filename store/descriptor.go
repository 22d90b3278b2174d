package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

const (
	// MostDescriptorBytes bounds what a descriptor has.
	MostDescriptorBytes = 64 << 10
	// MostDescriptors bounds how many descriptors of a sort a namespace has.
	MostDescriptors = 10_000
)

// Descriptors keeps what code tells of queues and kinds, for people. Nothing goes by it.
type Descriptors interface {
	// Describe writes descriptors, in one transaction, and returns how many that has changed: one
	// with the data of the one that is there leaves that as it is, with its At and Build. One
	// without data removes that. The errors are ErrInvalid for what fails CheckDescriptors, and
	// ErrConflict if a namespace would have more than MostDescriptors of a sort; nothing is written
	// then.
	Describe(ctx context.Context, list []Descriptor, actor string) (changed int, err error)
	// Descriptors returns a page of descriptors, by name. The error is ErrInvalid.
	Descriptors(ctx context.Context, params DescriptorParams) ([]Descriptor, error)
}

// Subject is what a descriptor is of.
type Subject uint8

// The subjects, which are kept in databases.
const (
	SubjectQueue Subject = 1
	SubjectKind  Subject = 2
)

// String returns the subject as a word.
func (s Subject) String() string {
	switch s {
	case SubjectQueue:
		return "queue"
	case SubjectKind:
		return "kind"
	default:
		return fmt.Sprintf("Subject(%d)", uint8(s))
	}
}

// Descriptor is what code tells of a queue or a kind.
type Descriptor struct {
	Namespace string
	Subject   Subject
	Name      string    // of the queue, or of the kind, without a version
	Data      []byte    // a JSON object, which stores do not look into; package describe says what is in it
	Build     Build     // of the program that has told it
	At        time.Time // when it has; the store sets it
}

// DescriptorParams asks for descriptors.
type DescriptorParams struct {
	Namespace string
	Subject   Subject
	Name      string // "": of any
	After     string // only names behind this one
	Limit     int    // 1 to 1000
}

// Check reports why no store takes the descriptor, an ErrInvalid.
func (d *Descriptor) Check() error {
	switch {
	case d.Subject != SubjectQueue && d.Subject != SubjectKind:
		return fmt.Errorf("%w: a descriptor of a %v", ErrInvalid, d.Subject)
	case d.Name == "" || len(d.Name) > 200 || !isText(d.Name) || d.Namespace == "" || len(d.Namespace) > 200 || !isText(d.Namespace):
		return fmt.Errorf("%w: descriptor of %v %.200q of namespace %.200q: names are 1 to 200 bytes of UTF-8 without NUL", ErrInvalid, d.Subject,
			d.Name, d.Namespace)
	case len(d.Data) > MostDescriptorBytes:
		return fmt.Errorf("%w: the descriptor of %v %s has %d bytes, and may have %d", ErrInvalid, d.Subject, d.Name, len(d.Data),
			MostDescriptorBytes)
	case len(d.Data) > 0 && (!isText(string(d.Data)) || d.Data[0] != '{' || !json.Valid(d.Data)):
		return fmt.Errorf("%w: the descriptor of %v %s is no JSON object", ErrInvalid, d.Subject, d.Name)
	case !isText(d.Build.Program) || !isText(d.Build.Engine):
		return fmt.Errorf("%w: the build of the descriptor of %v %s is not valid UTF-8, or contains NUL", ErrInvalid, d.Subject, d.Name)
	}
	return nil
}

// CheckDescriptors checks each, and that no two are of the same.
func CheckDescriptors(list []Descriptor) error {
	type name struct {
		namespace, name string
		subject         Subject
	}
	seen := map[name]bool{}
	for i := range list {
		d := &list[i]
		if err := d.Check(); err != nil {
			return err
		}
		of := name{d.Namespace, d.Name, d.Subject}
		if seen[of] {
			return fmt.Errorf("%w: %v %.200q is described twice", ErrInvalid, d.Subject, d.Name)
		}
		seen[of] = true
	}
	return nil
}

// TooManyDescriptors is the ErrConflict of one descriptor more than there may be.
func TooManyDescriptors(d *Descriptor) error {
	return fmt.Errorf("%w: descriptor of %v %.200q: namespace %.200q has %d of the sort, and may not have more",
		ErrConflict, d.Subject, d.Name, d.Namespace, MostDescriptors)
}
