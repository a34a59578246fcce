package conformance

import (
	"encoding/json"
	"net/url"
	"strings"
)

// member is a rule of an official schema about one member of an object.
type member struct {
	name string
	test func(value any, present bool) bool
}

// The rules of the schemas: those of an envelope and of its resource in version 2, and of a row in both versions.
var (
	envelopeRules = []member{
		{"x402Version", func(value any, _ bool) bool {
			number, ok := value.(json.Number)
			return ok && plainNumber(number) == "2"
		}},
		{"error", orNull(isString)}, {"extensions", orNull(isObject)}, {"resource", isObject},
	}
	resourceRules = []member{
		{"url", isText}, {"description", orNull(isString)}, {"mimeType", orNull(isString)},
		{"serviceName", orNull(isLabel)}, {"iconUrl", orNull(isShort)}, {"tags", orNull(isTags)},
	}
	rowRules = map[int][]member{
		1: {
			{"scheme", isText}, {"network", isText}, {"maxAmountRequired", isText}, {"asset", isText},
			{"payTo", isText}, {"resource", isAbsoluteURL}, {"description", isString}, {"mimeType", isString},
			{"maxTimeoutSeconds", isWhole}, {"outputSchema", orMissing(isObject)}, {"extra", orMissing(isObject)},
		},
		2: {
			{"scheme", isText}, {"network", isCAIP2}, {"amount", isText}, {"asset", isText}, {"payTo", isText},
			{"maxTimeoutSeconds", isPositive}, {"extra", orNull(isObject)},
		},
	}
)

// brokenRules counts the rules that an envelope breaks, by index in accepts, and under -1 those about the envelope.
func brokenRules(e *envelope) map[int]int {
	broken := map[int]int{}
	check := func(at int, members object, rules []member) {
		for _, rule := range rules {
			if value, present := members[rule.name]; !rule.test(value, present) {
				broken[at]++
			}
		}
	}
	if e.Version >= 2 {
		check(-1, e.object, envelopeRules)
		if resource, ok := e.object["resource"].(object); ok {
			check(-1, resource, resourceRules)
		}
	}
	rows, isList := e.object["accepts"].([]any)
	if !isList || len(rows) == 0 {
		broken[-1]++
	}
	for i, value := range rows[:min(len(rows), maxRows)] {
		if members, ok := value.(object); ok {
			check(i, members, rowRules[min(e.Version, 2)])
		} else {
			broken[i]++
		}
	}
	return broken
}

func orNull(test func(any, bool) bool) func(any, bool) bool {
	return func(value any, present bool) bool { return value == nil || test(value, present) }
}

func orMissing(test func(any, bool) bool) func(any, bool) bool {
	return func(value any, present bool) bool { return !present || test(value, present) }
}

func isString(value any, _ bool) bool {
	_, ok := value.(string)
	return ok
}

func isObject(value any, _ bool) bool {
	_, ok := value.(object)
	return ok
}

func isText(value any, _ bool) bool {
	text, _ := value.(string)
	return text != ""
}

func isLabel(value any, _ bool) bool {
	text, _ := value.(string)
	return matchesWhole(`[ -~]{1,32}`, text)
}

func isShort(value any, _ bool) bool {
	text, ok := value.(string)
	return ok && len(text) <= 2048
}

func isTags(value any, _ bool) bool {
	list, ok := value.([]any)
	for _, tag := range list {
		ok = ok && isLabel(tag, true)
	}
	return ok && len(list) <= 5
}

func isAbsoluteURL(value any, _ bool) bool {
	text, _ := value.(string)
	u, err := url.Parse(text)
	return err == nil && u.IsAbs()
}

func isCAIP2(value any, _ bool) bool {
	text, _ := value.(string)
	return len(text) >= 3 && strings.Contains(text, ":")
}

func isPositive(value any, _ bool) bool {
	number, ok := value.(json.Number)
	if !ok {
		return false
	}
	n, err := number.Float64()
	return err == nil && n > 0
}

func isWhole(value any, _ bool) bool {
	number, ok := value.(json.Number)
	return ok && plainNumber(number) != "" && !strings.Contains(plainNumber(number), ".")
}
