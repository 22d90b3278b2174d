package output

import "testing"

func TestOneLine(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" a\r\nb\n\nc ":       "a b c",
		"a\x1b[31mb\u009bc":   "a [31mb c",
		"mail\u200b":          `mail\u200b`,
		"a\u202eb\u2066c":     `a\u202eb\u2066c`,
		"\ufeffa\u2028b":      `\ufeffa\u2028b`,
		"é ü 漢 👍":             "é ü 漢 👍",
		"tag \U000e0041":      `tag \ue0041`,
		"a\tb":                "a b",
		"\u200d only the end": `\u200d only the end`,
	} {
		if got := OneLine(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestWithoutPasswords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no such database: postgres://u:p@h/db; x": "no such database: postgres://u:xxxxx@h/db; x",
		"postgres://u@h/db":                        "postgres://u@h/db",
		"host=h password=p@ss dbname=x":            "host=h password=xxxxx dbname=x",
		"password = 'a b' user=x":                  "password = xxxxx user=x",
		"http://h:80/a":                            "http://h:80/a",
	} {
		if got := WithoutPasswords(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
