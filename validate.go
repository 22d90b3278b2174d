package holdfast

import (
	"time"

	"github.com/holdfastdev/holdfast/internal/valid"
)

// MaxPayload is the default limit of a job's args, of its result, and of what its run stores or is
// sent, in bytes of JSON; see WithMaxPayload.
const MaxPayload = 1 << 20

func invalid(what, format string, args ...any) error { return valid.Error(what, format, args...) }

// encode encodes a value that what is about.
func encode(what string, v any) ([]byte, error) {
	data, err := valid.Encode(v)
	if err != nil {
		return nil, invalid(what, "cannot encode %T: %v", v, err)
	}
	return data, nil
}

// orNone is JSON, or nil if that has no value.
func orNone(data []byte) []byte {
	if len(data) == 0 || string(data) == "null" {
		return nil
	}
	return data
}

func checkName(what, name string) error { return valid.Name(what, name) }

func checkKind(name string) error { return valid.Kind(name) }

func checkJSON(what string, data []byte, limit int) error { return valid.JSON(what, data, limit) }

func checkObject(what string, data []byte, limit int) error { return valid.Object(what, data, limit) }

func checkPositive(what string, d time.Duration) error {
	if d <= 0 {
		return invalid(what, "%v is not positive", d)
	}
	return nil
}

func noFunction(of string) error { return invalid(of, "its function must not be nil") }

// errNoOption is the error of an option that is nil.
var errNoOption = invalid("options", "an option must not be nil")
