package entries

import "regexp"

// places are the paths of places in the code: of the handler's own operations "3", of those in a
// strand that began at place 2 "2.1", of those in what handles the first request in the wait at
// place 4 "4:1.1", and in the second wait after it that has no place "4+2:1.1".
var places = regexp.MustCompile(`^([1-9][0-9]{0,8}((\+[1-9][0-9]{0,8})?:[1-9][0-9]{0,8})?\.)*[1-9][0-9]{0,8}$`)

// wrongPath is why a path is none of an entry, or "".
func wrongPath(path string, placed bool) string {
	switch {
	case !placed && path != "":
		return "an entry of this kind has no path"
	case !placed:
		return ""
	case path == "":
		return "it is missing: it is the operation's place in the run, such as 1"
	case len(path) > maxPath:
		return "it is too long"
	case !places.MatchString(path):
		return "it is not a place such as 3, or 2.1 in a strand that began at 2"
	}
	return ""
}
