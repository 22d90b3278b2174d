package nodes

import "strings"

// split splits the values of a flag that may be repeated, or be a list.
func split(texts []string) (all []string) {
	for _, text := range texts {
		for part := range strings.SplitSeq(text, ",") {
			if part = strings.TrimSpace(part); part != "" {
				all = append(all, part)
			}
		}
	}
	return all
}
