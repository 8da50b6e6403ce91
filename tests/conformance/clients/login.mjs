// How a client of either SDK gets in where people have to log in.
import { createInterface } from "node:readline/promises";

// What the SDKs ask of a host: it keeps one login, for as long as the program runs.
class Login {
  redirectUrl = "http://127.0.0.1:1/callback";
  clientMetadata = { client_name: "witness", redirect_uris: [this.redirectUrl], application_type: "native" };
  clientInformation() { return this.client; }
  saveClientInformation(client) { this.client = client; }
  tokens() { return this.given; }
  saveTokens(given) { this.given = given; }
  codeVerifier() { return this.verifier; }
  saveCodeVerifier(verifier) { this.verifier = verifier; }
  redirectToAuthorization(address) { this.address = address; }
}

// Prints where to log in, reads from stdin where the browser was sent back to, and connects the client.
// `open` makes a transport for a login.
export async function connectAfterLogin(client, open) {
  const login = new Login();
  const transport = open(login);
  const failure = await client.connect(transport).catch((error) => error);
  if (!login.address) throw failure ?? new Error("no login was asked for");
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const back = new URL(await terminal.question(`${login.address}\n`)).searchParams;
  terminal.close();
  await transport.finishAuth(back.get("code"), back.get("iss"));
  await client.connect(open(login));
}
