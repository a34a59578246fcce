// Verifies a signed request, and a signed key directory, with Cloudflare's packages. argv[2] is the folder of modules.
// stdin: {request: {method, url, headers}, dictionary: {url, headers}, directory: {url, body, headers}}. stdout: what was verified, as JSON.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const load = (name) => import(pathToFileURL(`${process.argv[2]}/${name}`));
const { verify, jwkToKeyID, helpers } = await load("web-bot-auth/dist/index.mjs");
const { verifierFromJWK } = await load("web-bot-auth/dist/crypto.mjs");
const sig = await load("http-message-sig/dist/index.mjs");

const input = JSON.parse(readFileSync(0, "utf8"));
const [key] = JSON.parse(input.directory.body).keys;
const result = { keyid: await jwkToKeyID(key, helpers.WEBCRYPTO_SHA256, helpers.BASE64URL_DECODE) };

const request = new Request(input.request.url, { method: input.request.method, headers: input.request.headers });
await verify(request, await verifierFromJWK(key));
result.request = true;

const other = new Request("https://other.example/", { headers: input.request.headers });
result.otherHost = await verify(other, await verifierFromJWK(key)).then(() => true, () => false);

// The form that newer drafts want. The verifier must accept it before requests may have it.
const dictionary = new Request(input.dictionary.url, { headers: input.dictionary.headers });
result.dictionary = await verify(dictionary, await verifierFromJWK(key)).then(() => true, () => false);

const publicKey = await importKey(key);
await sig.verify(
  {
    request: { method: "GET", url: input.directory.url, headers: {} },
    response: { status: 200, headers: input.directory.headers },
  },
  async (data, signature, params) => {
    if (!(await globalThis.crypto.subtle.verify("Ed25519", publicKey, signature, new TextEncoder().encode(data))))
      throw new Error("the signature of the directory is not valid");
    result.directory = params.tag;
  },
);
console.log(JSON.stringify(result));

async function importKey(jwk) {
  return globalThis.crypto.subtle.importKey("jwk", { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, "Ed25519", true, ["verify"]);
}
