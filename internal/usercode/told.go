package usercode

import "errors"

// Told is the error of a handler as those are told it that are around the handler: it is what the
// handler has returned, but for what it says of how the job goes on.
type Told struct { //nolint:errname // it is what is told, and no error of its own
	Err    error // of the handler; may be nil if Parked
	Parked bool  // whether it is an ErrParked, which a nil Err has no way to say
}

func (t *Told) Error() string {
	if t.Err == nil {
		return ErrParked.Error()
	}
	return t.Err.Error()
}

// Is is that of the handler's error, but for ErrParked. It does not unwrap, since what is inside
// may say otherwise.
func (t *Told) Is(target error) bool {
	if target == ErrParked {
		return t.Parked
	}
	return errors.Is(t.Err, target)
}

// As is that of the handler's error.
func (t *Told) As(target any) bool { return errors.As(t.Err, target) }
