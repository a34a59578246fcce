package x402

import (
	"encoding/json"
	"strings"
)

// meaning returns the sentence of a defect code.
func meaning(code string) string {
	for _, c := range defectCodes {
		if c.Code == code {
			return strings.TrimSuffix(c.Meaning, ".")
		}
	}
	return code
}

// mustBe returns the reason for a value of the wrong form: "amount must be a string; got the number 1000".
func mustBe(key, want string, raw json.RawMessage) string {
	got := "nothing"
	if len(raw) > 0 {
		switch raw[0] {
		case '"':
			got = "the string "
		case '{':
			got = "the object "
		case '[':
			got = "the list "
		case 't', 'f', 'n':
			got = ""
		default:
			got = "the number "
		}
		got += show(raw)
	}
	return key + " must be " + want + "; got " + got
}

// show prints a value as received, short enough for a reason.
func show(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	return clip(cleanText(string(raw)), 80)
}
