package holdfast

import "github.com/holdfastdev/holdfast/internal/valid"

// MaxPayload is the default limit of a job's args and of its result, in bytes.
const MaxPayload = 1 << 20

func invalid(what, format string, args ...any) error { return valid.Error(what, format, args...) }

func encode(v any) ([]byte, error) { return valid.Encode(v) }

func checkName(what, name string) error { return valid.Name(what, name) }

func checkKind(name string) error { return valid.Kind(name) }

func checkJSON(what string, data []byte, limit int) error { return valid.JSON(what, data, limit) }

func checkObject(what string, data []byte, limit int) error { return valid.Object(what, data, limit) }

func noFunction(of string) error { return invalid(of, "its function must not be nil") }

// errNoOption is the error of an option that is nil.
var errNoOption = invalid("options", "an option must not be nil")
