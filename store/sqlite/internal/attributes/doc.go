// Package attributes has search attributes: what namespaces have declared, in holdfast_attribute,
// and what jobs have for it, in holdfast_attribute_value.
//
//	verbs   store.Attributes
//	values  what jobs have: what other packages write and read of it
//	copy    what package move does
//
// # How it works
//
// A value is bytes that are in the order of the values, so one index answers for equality, in the
// order of ids, and for ranges. A job that has no attributes has no row, and nothing is asked for
// it when it is enqueued or ends. The rows go with the job (package tend).
//
// # When it fails
//
// An error ends the transaction, and nothing of it has happened.
//
// # Imports
//
// Of ours, store, core and db.
package attributes
