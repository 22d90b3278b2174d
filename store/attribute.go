package store

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// What search attributes may have.
const (
	// MaxAttributes is how many a namespace may declare.
	MaxAttributes = 100
	// MaxAttributeName is how many bytes a name may have.
	MaxAttributeName = 100
	// MaxAttributeMatches is how many a filter may have.
	MaxAttributeMatches = 20
)

// Attributes are values by which jobs are found: a namespace declares names and types, and a job of
// it has one value for each at most. They are never encoded by a codec.
//
// A value of a name that is not declared, or of another type, is not kept: what writes jobs drops
// it, as it does while the name is being removed. Who sets values looks at DeclaredAttributes
// before.
type Attributes interface {
	// DeclareAttributes declares names, all of them or none. One that is declared with the same
	// type stays as it is. The errors are ErrInvalid, also for a name that is declared with another
	// type and for more than MaxAttributes, and ErrConflict for one that is being removed.
	DeclareAttributes(ctx context.Context, params DeclareAttributesParams) error
	// DeclaredAttributes returns what a namespace has declared, by name, with those that are being
	// removed.
	DeclaredAttributes(ctx context.Context, namespace string) ([]DeclaredAttribute, error)
	// RemoveAttribute removes a name: from its first call on no value of it is kept and no filter
	// may have it. Each call removes up to Limit of the values that jobs have; the one that finds
	// fewer than that removes the name. more tells that it is to be called again. The errors are
	// ErrInvalid, and ErrNotFound for a name that is not declared.
	RemoveAttribute(ctx context.Context, params RemoveAttributeParams) (more bool, err error)
}

// AttributeType is the type of a search attribute.
type AttributeType uint8

// The types. The numbers are stored in databases and never change their meaning.
const (
	AttributeKeyword AttributeType = 1 // a text that is compared as a whole, byte by byte
	AttributeInt     AttributeType = 2 // of 64 bits
	AttributeFloat   AttributeType = 3 // of 64 bits, finite
	AttributeBool    AttributeType = 4 // false is before true
	AttributeTime    AttributeType = 5 // in microseconds

	// AttributeText is that of a value which is written as a text, and is read as the type with
	// which its name is declared: see TextValue. No attribute is declared with it, and no job has
	// one.
	AttributeText AttributeType = 255
)

var attributeTypeNames = []string{"", "keyword", "int", "float", "bool", "time"}

// AttributeTypes are all types.
var AttributeTypes = []AttributeType{AttributeKeyword, AttributeInt, AttributeFloat, AttributeBool, AttributeTime}

// String returns the name of the type, as users see it everywhere.
func (t AttributeType) String() string {
	if t == AttributeText {
		return "text"
	}
	return nameOf(attributeTypeNames, uint8(t), "type")
}

// ParseAttributeType is the inverse of AttributeType.String.
func ParseAttributeType(name string) (AttributeType, error) {
	return numberOf[AttributeType](attributeTypeNames, name, "type of a search attribute")
}

// Attribute is the value that a job has for a name, or is to have.
type Attribute struct {
	Name string `json:"name"`
	// Value is what it has. The zero value, in what a run says and in an Edit, is none: the job has
	// no value for the name from then on.
	Value AttributeValue `json:"value"`
}

// DeclaredAttribute is a name that a namespace has declared.
type DeclaredAttribute struct {
	Name       string
	Type       AttributeType
	DeclaredAt time.Time
	Leaving    bool // it is being removed: see RemoveAttribute
}

// DeclareAttributesParams declares attributes.
type DeclareAttributesParams struct {
	Namespace  string
	Attributes []DeclaredAttribute // their names and types
	Actor      string
}

// RemoveAttributeParams removes an attribute.
type RemoveAttributeParams struct {
	Namespace string
	Name      string
	Limit     int // of the values that are removed at once; 1 to 10000
	Actor     string
}

// Check reports why no store takes the declarations, an ErrInvalid.
func (p *DeclareAttributesParams) Check() error {
	if p.Namespace == "" || !isText(p.Namespace) {
		return fmt.Errorf("%w: search attributes are declared in a namespace, and %.60q is none", ErrInvalid, p.Namespace)
	}
	types := make(map[string]AttributeType, len(p.Attributes))
	for _, a := range p.Attributes {
		if err := CheckAttributeName(a.Name); err != nil {
			return err
		}
		if !slices.Contains(AttributeTypes, a.Type) {
			return fmt.Errorf("%w: the search attribute %q has the unknown type %d", ErrInvalid, a.Name, a.Type)
		}
		if before := types[a.Name]; before != 0 && before != a.Type {
			return OtherAttributeType(p.Namespace, a.Name, before, a.Type)
		}
		types[a.Name] = a.Type
	}
	return nil
}

// Check reports why no store takes the parameters, an ErrInvalid.
func (p *RemoveAttributeParams) Check() error {
	if p.Namespace == "" || !isText(p.Namespace) {
		return fmt.Errorf("%w: search attributes are removed from a namespace, and %.60q is none", ErrInvalid, p.Namespace)
	}
	if p.Limit < 1 || p.Limit > 10_000 {
		return fmt.Errorf("%w: %d values of a search attribute at once; the limit is 1 to 10000", ErrInvalid, p.Limit)
	}
	return CheckAttributeName(p.Name)
}

// CheckAttributeName reports why a search attribute cannot have a name, an ErrInvalid: it begins
// with a letter or an underscore, and has letters and digits of ASCII, underscores, dots and
// hyphens, at most MaxAttributeName.
func CheckAttributeName(name string) error {
	if problem := nameProblem(name); problem != "" {
		return fmt.Errorf("%w: %s", ErrInvalid, problem)
	}
	return nil
}

// nameProblem says why there is no such name; "" if there is.
func nameProblem(name string) string {
	for i := range len(name) {
		c := name[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '.' || c == '-')) {
			return fmt.Sprintf("the name %.60q of a search attribute: it begins with a letter or _, "+
				"and has nothing but letters, digits, _, . and -", name)
		}
	}
	if name == "" || len(name) > MaxAttributeName {
		return fmt.Sprintf("the name %.60q of a search attribute has %d bytes, which is not 1 to %d", name, len(name), MaxAttributeName)
	}
	return ""
}

// CheckAttributes reports why a job cannot have such attributes, an ErrInvalid: of each name there
// is one value. If unset they may be without a value. A zero id is not told.
func CheckAttributes(job ID, list []Attribute, unset bool) error {
	if len(list) == 0 {
		return nil // each enqueue comes here, mostly with nothing
	}
	of := ""
	if job != (ID{}) {
		of = "job " + job.String() + ": "
	}
	if len(list) > MaxAttributes {
		return fmt.Errorf("%w: %s%d search attributes; the limit is %d", ErrInvalid, of, len(list), MaxAttributes)
	}
	for i := range list {
		a := &list[i]
		if problem := nameProblem(a.Name); problem != "" {
			return fmt.Errorf("%w: %s%s", ErrInvalid, of, problem)
		}
		if slices.ContainsFunc(list[:i], func(b Attribute) bool { return b.Name == a.Name }) {
			return fmt.Errorf("%w: %sthe search attribute %q is there twice", ErrInvalid, of, a.Name)
		}
		if unset && a.Value == (AttributeValue{}) {
			continue
		}
		if problem := a.Value.problem(); problem != "" {
			return fmt.Errorf("%w: %sthe search attribute %q: %s", ErrInvalid, of, a.Name, problem)
		}
	}
	return nil
}

// AttributeValues are the values of attributes by their names.
func AttributeValues(list []Attribute) map[string]AttributeValue {
	values := make(map[string]AttributeValue, len(list))
	for _, a := range list {
		values[a.Name] = a.Value
	}
	return values
}

// OverAttributes are attributes as they are set by list and then by later, by name: of each name
// the last.
func OverAttributes(list, later []Attribute) []Attribute {
	if len(list) == 0 {
		return later
	}
	all := slices.Clone(list)
	for _, a := range later {
		if i := slices.IndexFunc(all, func(b Attribute) bool { return b.Name == a.Name }); i >= 0 {
			all[i] = a
		} else {
			all = append(all, a)
		}
	}
	return all
}

// OtherAttributeType is the error for an attribute that has another type than it is declared with.
func OtherAttributeType(namespace, name string, declared, given AttributeType) error {
	return fmt.Errorf("%w: the search attribute %q of namespace %q is declared as %s, and not as %s: "+
		"give it that type, or use another name (holdfast attribute delete %s removes it, with all its values)",
		ErrInvalid, name, namespace, declared, given, name)
}

// UndeclaredAttribute is the error for an attribute that is not declared. typ is 0 if the
// caller does not know which type it is to have.
func UndeclaredAttribute(namespace, name string, typ AttributeType) error {
	as := "TYPE"
	if typ != 0 && typ != AttributeText {
		as = typ.String()
	}
	return fmt.Errorf("%w: the search attribute %q is not declared in namespace %q: "+
		"declare it with holdfast attribute declare %s --type %s", ErrInvalid, name, namespace, name, as)
}

// LeavingAttribute is the error for declaring an attribute that is being removed.
func LeavingAttribute(namespace, name string) error {
	return fmt.Errorf("%w: the search attribute %q of namespace %q is being removed; "+
		"end that with holdfast attribute delete %s, and declare it then",
		ErrConflict, name, namespace, name)
}

// NoAttribute is the error for removing an attribute that is not there.
func NoAttribute(namespace, name string) error {
	return fmt.Errorf("%w: the search attribute %q in namespace %q", ErrNotFound, name, namespace)
}

// TooManyAttributes is the error for declaring more than a namespace may.
func TooManyAttributes(namespace string, n int) error {
	return fmt.Errorf("%w: namespace %q would have %d search attributes; the limit is %d: delete some that are not used",
		ErrInvalid, namespace, n, MaxAttributes)
}
