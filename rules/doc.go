// Package rules decides by expressions: what becomes of a callback, by what its outside system
// sends, and of which events a webhook is told.
//
// A foreign system posts what it likes to the URL of a callback, several times on the way to the
// end, and knows nothing of complete and fail. Rules say what of it is an answer:
//
//	c, err := rules.Open(run, "payment", rules.Callback{
//		Filter:     `payload.type.startsWith("charge.")`,
//		OnComplete: `payload.type == "charge.succeeded"`,
//		OnFail:     `payload.type == "charge.failed"`,
//		Transform:  `{"id": payload.data.id, "amount": payload.data.amount}`,
//	})
//
// Expressions are those of CEL, the Common Expression Language, over one variable. Whatever is sent
// with Answer, or posted to /callbacks/TOKEN of a server, is decided by the rules of the callback.
//
// # What it promises
//
// The rules are compiled when the callback is made: the run gets an error that says which one is
// wrong, and where. They are kept in the journal with the callback, so that what is sent later is
// decided by the rules with which the callback was made, whatever the code says by then. The answer
// is stored in one transaction, and a callback is answered once: of two answers at a time one is a
// conflict.
//
// # How it fails
//
// An expression that has no value, such as one about a field that is not there, answers nothing:
// the sender gets an error, the callback stays open, and the same may be sent again once the rules
// or what is sent are right. To guess would complete a job by what nothing has said.
//
// # Imports
//
// The root package, internal/access, internal/expr, internal/journal and store. Programs that do
// not import this package do not link what evaluates expressions.
package rules
