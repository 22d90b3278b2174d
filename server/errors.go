package server

import (
	"fmt"

	"github.com/holdfastdev/holdfast/store"
)

var errNoAuthentication = fmt.Errorf("%w: Options.Authenticate is not set; access.Anyone lets everybody do everything", store.ErrInvalid)
