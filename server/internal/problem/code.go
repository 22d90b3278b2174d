package problem

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Code is what went wrong, for programs.
type Code string

// The codes. They never change their meaning.
const (
	Malformed        Code = "malformed"
	InvalidRequest   Code = "invalid"
	Unauthenticated  Code = "unauthenticated"
	Forbidden        Code = "forbidden"
	CrossOrigin      Code = "cross_origin"
	ReadOnly         Code = "read_only"
	NotFound         Code = "not_found"
	MethodNotAllowed Code = "method_not_allowed"
	NotAcceptable    Code = "not_acceptable"
	Conflict         Code = "conflict"
	KeyReused        Code = "idempotency_key_reused"
	UnderWay         Code = "request_under_way"
	UnknownOutcome   Code = "outcome_unknown"
	AnswerNotKept    Code = "answer_not_kept"
	LeaseLost        Code = "lease_lost"
	WorkerGone       Code = "worker_gone"
	JournalFull      Code = "journal_full"
	Undecided        Code = "callback_undecided"
	Changed          Code = "changed"
	TooLarge         Code = "too_large"
	MediaType        Code = "unsupported_media_type"
	WrongHost        Code = "wrong_host"
	NeedsVersion     Code = "precondition_required"
	TooMany          Code = "rate_limited"
	Internal         Code = "internal"
	DatabaseRefused  Code = "database_refused"
	DatabaseReadOnly Code = "database_read_only"
	SchemaMismatch   Code = "schema_mismatch"
	Busy             Code = "busy"
	Unavailable      Code = "unavailable"
	DiskFull         Code = "disk_full"
	Stopping         Code = "stopping"
	TimedOut         Code = "timed_out"
)

// meaning is what a code says.
type meaning struct {
	status    int
	title     string
	retryable bool
}

var codes = map[Code]meaning{
	Malformed:        {http.StatusBadRequest, "The request is not well-formed", false},
	InvalidRequest:   {http.StatusUnprocessableEntity, "The request can never succeed as it is", false},
	Unauthenticated:  {http.StatusUnauthorized, "There is no valid credential", false},
	Forbidden:        {http.StatusForbidden, "The credential does not permit this", false},
	CrossOrigin:      {http.StatusForbidden, "The request comes from another web site", false},
	ReadOnly:         {http.StatusForbidden, "The server only reads", false},
	NotFound:         {http.StatusNotFound, "There is no such thing", false},
	MethodNotAllowed: {http.StatusMethodNotAllowed, "The path has no such method", false},
	NotAcceptable:    {http.StatusNotAcceptable, "The answer is in none of the accepted types", false},
	Conflict:         {http.StatusConflict, "The request contradicts what is stored", false},
	KeyReused:        {http.StatusUnprocessableEntity, "The Idempotency-Key was used for another request", false},
	UnderWay:         {http.StatusConflict, "A request with this Idempotency-Key is under way", true},
	UnknownOutcome:   {http.StatusConflict, "It is not known what became of the request with this Idempotency-Key", false},
	AnswerNotKept:    {http.StatusConflict, "The request was done, and its answer was not kept", false},
	LeaseLost:        {http.StatusConflict, "The lease is not the job's live lease", false},
	WorkerGone:       {http.StatusGone, "The worker was declared dead, or has left", false},
	JournalFull:      {http.StatusConflict, "The job remembers all it may", false},
	Undecided:        {http.StatusUnprocessableEntity, "The rules of the callback have no value for what was sent", false},
	Changed:          {http.StatusPreconditionFailed, "It was changed meanwhile", false},
	TooLarge:         {http.StatusRequestEntityTooLarge, "The request is too large", false},
	MediaType:        {http.StatusUnsupportedMediaType, "The request is not application/json", false},
	WrongHost:        {http.StatusMisdirectedRequest, "The server does not answer to this host name", false},
	NeedsVersion:     {http.StatusPreconditionRequired, "The request must say which version it changes", false},
	TooMany:          {http.StatusTooManyRequests, "Too many requests", true},
	Internal:         {http.StatusInternalServerError, "The server failed", false},
	DatabaseRefused:  {http.StatusInternalServerError, "The database does not permit its user to do this", false},
	DatabaseReadOnly: {http.StatusServiceUnavailable, "The database refuses writes", true},
	SchemaMismatch:   {http.StatusServiceUnavailable, "The database's schema does not fit the server", false},
	Busy:             {http.StatusServiceUnavailable, "A transaction holds what is needed", true},
	Unavailable:      {http.StatusServiceUnavailable, "What the server needs did not answer", true},
	DiskFull:         {http.StatusServiceUnavailable, "The database's disk is full", true},
	Stopping:         {http.StatusServiceUnavailable, "The server is stopping", true},
	TimedOut:         {http.StatusServiceUnavailable, "The request took too long", true},
}

// Codes are all codes, by their status.
func Codes() []Code { return slices.SortedFunc(maps.Keys(codes), sorted) }

// Status is the HTTP status of a code.
func (c Code) Status() int { return codes[c].status }

// Title is what a code means.
func (c Code) Title() string { return codes[c].title }

// retryAfter is a header Retry-After, in whole seconds.
func retryAfter(d time.Duration) string {
	return strconv.Itoa(int((d + time.Second - 1) / time.Second))
}
