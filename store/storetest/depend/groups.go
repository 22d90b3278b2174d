// Package depend tests jobs that come after others.
package depend

import "github.com/holdfastdev/holdfast/store/storetest/env"

// Groups are the tests of this package, by what they are about.
var Groups = env.Groups{
	"After":      afterTests,
	"Depend":     dependTests,
	"After_told": toldTests,
	"Follow_ups": followTests,
}
