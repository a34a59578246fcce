package guide

// GetSamples returns requests for JSON in four languages, without any package. The URL must be percent-encoded.
func GetSamples(address string) []Sample {
	v := values{Request: Request{Method: "GET", URL: address}}
	return []Sample{
		{Language: "curl", Code: "curl '" + address + "'"},
		{Language: "JavaScript", Code: v.execute(getJavaScript)},
		{Language: "Python", Code: v.execute(getPython)},
		{Language: "Go", Code: v.execute(getGo)},
	}
}

var getJavaScript = parse(`const answer = await fetch("{{.URL}}");
if (!answer.ok) throw new Error(await answer.text());
const { data } = await answer.json();
console.log(data);
`)

var getPython = parse(`import json
import urllib.request

with urllib.request.urlopen("{{.URL}}") as answer:
    print(json.load(answer)["data"])
`)

var getGo = parse(`package main

import (
	"encoding/json"
	"fmt"
	"log"
	"net/http"
)

func main() {
	answer, err := http.Get("{{.URL}}")
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		log.Fatal(answer.Status)
	}
	var body struct{ Data json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&body); err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(body.Data))
}
`)
