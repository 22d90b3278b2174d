package crashtest

import (
	"strconv"
	"time"

	"github.com/holdfastdev/holdfast"
)

var talk = holdfast.NewKind[int, string]("talk")

// talk logs numbers, and notes each in the file once it is logged, in its first attempt until it is
// killed.
func (w *runner) talk(run *holdfast.Run, _ int) (string, error) {
	log := run.Logger(nil)
	if run.Attempt() > 1 {
		log.Info("again")
		return "", nil
	}
	for n := 1; ; n++ {
		log.Info(strconv.Itoa(n)) //nolint:sloglint // any message
		if _, err := w.file.WriteString("."); err != nil {
			return "", err
		}
		if err := spend(run, 5*time.Millisecond); err != nil {
			return "", err
		}
	}
}
