// Package limits keeps limits in SQLite, and how many slots of them nodes hold.
//
// There is one writer, so a call that changes what a node holds sees what all others hold. What
// nodes rely on beside that is the same on both databases: no call takes what the node keeps
// (store.LimitAsk), an old call changes nothing, and what a dead node holds is swept once it has no
// claim record.
package limits
