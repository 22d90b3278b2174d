package system

import (
	"errors"
	"fmt"
)

var errEndedEarly = errors.New("the worker ended before its work was done")

func errEnded(err error) error {
	if err == nil {
		return errEndedEarly
	}
	return fmt.Errorf("%w: %w", errEndedEarly, err)
}
