package store

import (
	"context"
	"fmt"
	"time"
)

// Endpoints keeps where jobs and events are sent to by HTTP. A store does not look into what is set
// of an endpoint: package endpoint says what that means.
type Endpoints interface {
	// Endpoints returns a page of endpoints, by namespace and name. The error is ErrInvalid.
	Endpoints(ctx context.Context, params EndpointParams) ([]Endpoint, error)
	// SetEndpoint makes an endpoint, or changes one, and returns it. The same again changes
	// nothing. It is recorded who has done it. The errors are ErrInvalid, ErrNotFound for a change
	// of one that is not there, and ErrConflict if it is there already, if it has another version,
	// or if there are MostEndpoints of the purpose in the namespace.
	SetEndpoint(ctx context.Context, params SetEndpointParams) (Endpoint, error)
	// DeleteEndpoint removes an endpoint. The error is ErrNotFound. It is recorded who has done it.
	DeleteEndpoint(ctx context.Context, params DeleteEndpointParams) error
}

const (
	// MostEndpoints is how many endpoints of a purpose a namespace has at the most.
	MostEndpoints = 1000
	// MostEndpointData bounds Endpoint.Data, in bytes.
	MostEndpointData = 64 << 10
)

// EndpointPurpose is what an endpoint is for. The numbers are stored.
type EndpointPurpose uint8

// The purposes.
const (
	EndpointPush    EndpointPurpose = 1 // it works the jobs of the kind that is its name
	EndpointWebhook EndpointPurpose = 2 // it is told of events
)

// String is its name.
func (p EndpointPurpose) String() string {
	switch p {
	case EndpointPush:
		return "endpoint"
	case EndpointWebhook:
		return "webhook"
	}
	return fmt.Sprintf("purpose %d", uint8(p))
}

// EndpointName names an endpoint.
type EndpointName struct {
	Namespace string
	Purpose   EndpointPurpose
	Name      string
}

// Endpoint is where something is sent to.
type Endpoint struct {
	EndpointName

	Data                 []byte // what is set of it, as JSON
	Version              int64  // 1, and one more with each change
	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy string
}

// EndpointParams asks for endpoints of a purpose.
type EndpointParams struct {
	Purpose   EndpointPurpose
	Namespace string       // "": any
	Name      string       // "": any
	After     EndpointName // only those behind it, by namespace and name
	Limit     int          // 1 to 1000
}

// SetEndpointParams makes an endpoint, or changes it.
type SetEndpointParams struct {
	EndpointName

	Data    []byte
	Version int64 // that it has; 0: it is not there
	Actor   string
	// Was and Is are what the audit is to have of it as it was, and is then: JSON objects without
	// secrets; "": none. Stores do not look into Data.
	Was, Is string
}

// DeleteEndpointParams deletes an endpoint.
type DeleteEndpointParams struct {
	EndpointName

	Actor string
	Was   string // as in SetEndpointParams
}

// Check returns an ErrInvalid for what cannot be asked for.
func (p *EndpointParams) Check() error {
	if p.Purpose != EndpointPush && p.Purpose != EndpointWebhook {
		return fmt.Errorf("%w: there are no endpoints of %s", ErrInvalid, p.Purpose)
	}
	return CheckLimit(p.Limit)
}

// Check returns an ErrInvalid for what cannot be an endpoint.
func (p *SetEndpointParams) Check() error {
	switch {
	case p.Purpose != EndpointPush && p.Purpose != EndpointWebhook:
		return fmt.Errorf("%w: there are no endpoints of %s", ErrInvalid, p.Purpose)
	case p.Name == "" || len(p.Name) > 200 || !isText(p.Name):
		return fmt.Errorf("%w: the name of %s %.200q is to be 1 to 200 bytes of UTF-8 without NUL", ErrInvalid, p.Purpose, p.Name)
	case len(p.Data) == 0 || len(p.Data) > MostEndpointData:
		return fmt.Errorf("%w: what is set of %s %q has %d bytes; 1 to %d are kept", ErrInvalid, p.Purpose, p.Name, len(p.Data), MostEndpointData)
	case p.Version < 0:
		return fmt.Errorf("%w: %s %q has no version %d", ErrInvalid, p.Purpose, p.Name, p.Version)
	}
	return checkNamespace(p.Namespace)
}

// String says what is called so.
func (n *EndpointName) String() string { return n.Purpose.String() + " " + n.Name }

// NoEndpoint is the ErrNotFound of an endpoint that is not there.
func NoEndpoint(n EndpointName) error {
	return fmt.Errorf("%w: there is no %s %.200q", ErrNotFound, n.Purpose, n.Name)
}

// EndpointThere is the ErrConflict of an endpoint that is to be made and is there, or that has
// another version than the caller has seen.
func EndpointThere(n EndpointName, version int64) error {
	if version == 0 {
		return fmt.Errorf("%w: %s %q is there already", ErrConflict, n.Purpose, n.Name)
	}
	return fmt.Errorf("%w: %s %q was changed meanwhile; look at it again", ErrConflict, n.Purpose, n.Name)
}

// TooManyEndpoints is the ErrConflict of one more than there may be.
func TooManyEndpoints(n EndpointName) error {
	return fmt.Errorf("%w: namespace %q has %d %ss, and no more are kept", ErrConflict, n.Namespace, MostEndpoints, n.Purpose)
}
