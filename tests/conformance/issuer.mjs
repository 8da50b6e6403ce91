// An OpenID Connect issuer that we did not write, on the loopback: node issuer.mjs PATH
// Prints its address, PATH included, then does what each line from stdin says and prints "done":
//   sign ALGORITHM   by which access tokens are signed from now on; RS256 at first
//   behind SECONDS   how late its clock is
//   rotate           sign with new keys, and publish the last ones besides
//   forget           publish the keys that sign alone
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Provider } from "oidc-provider";

const KINDS = [
  ["rsa", { modulusLength: 2048 }],
  ["ec", { namedCurve: "P-256" }],
  ["ec", { namedCurve: "P-384" }],
  ["ec", { namedCurve: "P-521" }],
  ["ed25519", {}],
];
const path = process.argv[2];
const mount = path.replace(/\/$/, "");
const now = Date.now;
let answer;
let algorithm = "RS256";
let keys = [];

function made() {
  return KINDS.map(([kind, options]) => generateKeyPairSync(kind, options).privateKey.export({ format: "jwk" }));
}

function publish(published) {
  keys = published;
  const resource = (_, audience) => ({
    audience,
    scope: "read write",
    accessTokenFormat: "jwt",
    accessTokenTTL: 300,
    jwt: { sign: { alg: algorithm } },
  });
  const provider = new Provider(`http://127.0.0.1:${server.address().port}${path}`, {
    jwks: { keys },
    scopes: ["openid", "offline_access", "read", "write"],
    pkce: { required: () => true },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    extraTokenClaims: (_, token) =>
      token.accountId && { email: `${token.accountId}@example.org`, email_verified: true },
    features: {
      devInteractions: { enabled: true },
      registration: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: { enabled: true, getResourceServerInfo: resource },
    },
  });
  answer = provider.callback();
  return provider.issuer;
}

const orders = {
  sign: (name) => { algorithm = name; },
  behind: (seconds) => { Date.now = () => now() - Number(seconds) * 1000; },
  rotate: () => publish([...made(), ...keys]),
  forget: () => publish(keys.slice(0, KINDS.length)),
};

const server = createServer((request, response) => {
  request.originalUrl = request.url;
  if (request.url.startsWith(`${mount}/`)) request.url = request.url.slice(mount.length);
  answer(request, response);
});
server.listen(0, "127.0.0.1", () => {
  console.log(publish(made()));
  createInterface({ input: process.stdin }).on("line", (line) => {
    const [order, given] = line.split(" ");
    orders[order](given);
    console.log("done");
  });
});
