"""The three calls of the quickstart with a small SDK, made of the OpenAPI document and Python's own library.

Each operation is a method with its operationId as name. It takes the operation's parameters by name and refuses others.
"""
import json
import sys
import urllib.error
import urllib.parse
import urllib.request


class APIError(Exception):
    """An error response: its type and its message."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.type = error["type"]


class Client:
    def __init__(self, base):
        self.base = base
        with urllib.request.urlopen(base + "/openapi.json") as answer:
            self.document = json.load(answer)
        self.operations = {op["operationId"]: (path, op) for path, item in self.document["paths"].items()
                           for method, op in item.items() if method == "get"}

    def parameter(self, p):
        while "$ref" in p:
            p = self.document["components"]["parameters"][p["$ref"].rsplit("/", 1)[1]]
        return p

    def __getattr__(self, name):
        path, op = self.operations[name]

        def call(**given):
            query, to = {}, path
            for p in map(self.parameter, op.get("parameters", [])):
                if p["name"] not in given:
                    continue
                value, schema = given.pop(p["name"]), p["schema"]
                if "enum" in schema and value not in schema["enum"]:
                    raise ValueError(f"{p['name']} must be one of {schema['enum']}")
                if p["in"] == "path":
                    to = to.replace("{" + p["name"] + "}", urllib.parse.quote(str(value), safe=""))
                else:
                    query[p["name"]] = value
            if given:
                raise TypeError(f"{name} has no parameter {', '.join(given)}")
            try:
                with urllib.request.urlopen(self.base + to + "?" + urllib.parse.urlencode(query)) as answer:
                    return json.load(answer)
            except urllib.error.HTTPError as failed:
                raise APIError(json.load(failed)["error"]) from failed

        return call


client = Client(sys.argv[1])
found = client.getSearch(q=sys.argv[2], status="online")["data"]
service = client.getService(slug=found[0]["slug"])["data"]
changes = client.getChanges()
offers = [offer for endpoint in service["endpoints"][:1] for offer in endpoint["pricing"][:1]]
try:
    client.getService(slug="not-there")
    raise SystemExit("a service that does not exist is found")
except APIError as failed:
    if failed.type != "not_found":
        raise
print(json.dumps({
    "found": [row["slug"] for row in found], "advice": service["assessment"]["advice"]["level"],
    "price": offers[0]["price_usd"] if offers else "", "pay_to": offers[0]["pay_to"] if offers else "",
    "changes": changes["meta"]["total"], "newest": changes["data"][0]["type"] if changes["data"] else "",
}))
