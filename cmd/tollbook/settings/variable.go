package settings

import (
	"slices"
	"strings"

	"tollbook/cmd/tollbook/terminal"
	"tollbook/site/display"
)

// configVariable names the configuration file, as --config does.
const configVariable = "TOLLBOOK_CONFIG"

func same(s string) string { return s }

// Variables contains the environment variables without a key: secrets, and those that programs for Postgres and buckets
// have in common.
var Variables = []Variable{
	{Name: "DATABASE_URL", shown: true, show: DatabaseHost,
		Meaning: "Postgres server to use in place of a private one in the data folder"},
	{Name: "AWS_ENDPOINT_URL", shown: true, show: SchemeAndHost, Meaning: "URL of the S3-compatible server"},
	{Name: "AWS_REGION", shown: true, show: same, Meaning: "region of the bucket"},
	{Name: "AWS_ACCESS_KEY_ID", shown: true, Meaning: "access key ID"},
	{Name: "AWS_SECRET_ACCESS_KEY", shown: true, Meaning: "secret access key"},
	{Name: "AWS_SESSION_TOKEN", shown: true, Meaning: "token of a temporary key for the bucket"},
	{Name: "OPENAI_API_KEY", shown: true, Meaning: "key for the API of synthesis.base_url"},
	{Name: "TOLLBOOK_SIGNING_KEY", shown: true,
		Meaning: "the key that signs checkpoints, in place of the file of publish.key"},
	{Name: configVariable, Meaning: "configuration file, in place of ./tollbook.toml or that of the machine"},
	{Name: "TOLLBOOK_POSTGRES_BIN", Meaning: "folder of the programs of Postgres, for the private server"},
}

// CheckVariables returns an error if the environment has a TOLLBOOK_ variable that nothing reads, except those of
// tests.
func CheckVariables(environment []string) error {
	var names []string
	for _, s := range Table {
		names = append(names, s.Variable())
	}
	for _, v := range Variables {
		names = append(names, v.Name)
	}
	slices.Sort(environment)
	for _, line := range environment {
		name, _, _ := strings.Cut(line, "=")
		isOurs := strings.HasPrefix(name, "TOLLBOOK_") && !strings.HasPrefix(name, "TOLLBOOK_TEST")
		if isOurs && !slices.Contains(names, name) {
			return terminal.UsageErrorf("unknown variable %s%s", name, display.Hint(name, names))
		}
	}
	return nil
}
