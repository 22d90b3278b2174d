package alike

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Version is that of the rules. It is another one whenever they make anything else of any text.
const Version = 2 // 1 replaced numbers and hexadecimal digits alone

// MaxBytes is how long what is left of a text is at the most.
const MaxBytes = 1024

// Text is what is the same in errors that are alike: the first line of the text that says anything,
// with placeholders such as <n> and <id> for what varies. It is valid UTF-8, of MaxBytes at the
// most, and Text of it is itself.
func Text(text string) string {
	line := tidy(firstLine(text))
	for {
		next := tidy(apply(line))
		if next == line {
			return line
		}
		line = next
	}
}

// firstLine is the first that is not blank. Of a huge one only so much is looked at as may be left.
func firstLine(text string) string {
	text = strings.TrimLeftFunc(text[:min(len(text), 64<<10)], unicode.IsSpace)
	if at := strings.IndexAny(text, "\r\n"); at >= 0 {
		text = text[:at]
	}
	return text[:min(len(text), MaxBytes+utf8.UTFMax)]
}

// tidy makes a text valid, puts one space where there is any, and cuts it.
func tidy(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case firstKept <= r && r <= lastKept:
			return utf8.RuneError
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= MaxBytes {
		return text
	}
	end := MaxBytes
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return strings.TrimSpace(text[:end])
}

// What stays as it is, is one character while the rules after it are applied: one of those that
// Unicode leaves to private use. A text has none of its own.
const (
	firstKept = '\uE000'
	lastKept  = '\uF8FF'
)

// apply applies all rules to a text, one after the other.
func apply(text string) string {
	var kept []string
	for i := range rules {
		r := &rules[i]
		if !strings.ContainsAny(text, r.needs) {
			continue
		}
		text = patterns()[i].ReplaceAllStringFunc(text, func(found string) string {
			switch {
			case r.only != nil && !r.only(found):
				return found
			case r.becomes != "":
				return r.becomes
			}
			kept = append(kept, found)
			return string(firstKept + rune(len(kept)-1))
		})
	}
	if kept == nil {
		return text
	}
	var out strings.Builder
	for _, c := range text {
		if c >= firstKept && c <= lastKept {
			out.WriteString(kept[c-firstKept])
			continue
		}
		out.WriteRune(c)
	}
	return out.String()
}
