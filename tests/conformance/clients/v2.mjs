// As v1.mjs, through the TypeScript SDK v2. The target's `mode` is the era it asks for: auto or legacy.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { connectAfterLogin } from "./login.mjs";
import { transcript } from "./transcript.mjs";

const { mode, login, ...target } = JSON.parse(process.argv[2]);
const open = (authProvider) =>
  target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), { authProvider })
    : new StdioClientTransport({ ...target, env: process.env });
const client = new Client({ name: "witness-v2", version: "1" }, { versionNegotiation: { mode } });
if (login) await connectAfterLogin(client, open);
else await client.connect(open());
await transcript(client, JSON.parse(process.argv[3]));
