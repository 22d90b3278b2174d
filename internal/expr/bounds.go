package expr

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/traits"

	"github.com/holdfastdev/holdfast/store"
)

const (
	// MaxText is how long an expression may be, in bytes.
	MaxText = 4 << 10
	// MaxResult is how much JSON an expression may make, in bytes.
	MaxResult = 1 << 20
	// mostSteps is about how many steps an evaluation may take; to compare two values is one.
	mostSteps = 50_000
	// mostValues is how many values it may put into lists and maps.
	mostValues = 1_000_000
	// deepest is how deep an expression may be nested.
	deepest = 30
)

// CompileError is why a text is no expression. It is an ErrInvalid.
type CompileError struct {
	Line, Column int // from 1 on; 0: of the whole text
	Reason       string
}

func (e *CompileError) Error() string {
	if e.Line == 0 {
		return e.Reason
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Reason)
}

// Unwrap returns store.ErrInvalid.
func (*CompileError) Unwrap() error { return store.ErrInvalid }

// EvalError is why an expression has no value.
type EvalError struct{ Reason string }

func (e *EvalError) Error() string { return e.Reason }

// oneLine is a text without line breaks, as long as an error may be.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > 300 {
		text = strings.ToValidUTF8(text[:300], "") + " …"
	}
	return text
}

// sizeOf is how many elements there are.
func sizeOf(s traits.Sizer) int64 {
	n, _ := s.Size().(types.Int)
	return int64(n)
}
