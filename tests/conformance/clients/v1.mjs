// Calls tools through the TypeScript SDK v1, which checks each answer against its output schema.
// Usage: node v1.mjs '{"url": …} or {"command": …, "args": […]}' '[{"name": …, "arguments": {…}}]'
// With "login": true besides the url it gets in as login.mjs says.
// Prints one JSON array: for each call its result, or what the client threw.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { connectAfterLogin } from "./login.mjs";
import { transcript } from "./transcript.mjs";

const { login, ...target } = JSON.parse(process.argv[2]);
const open = (authProvider) =>
  target.url
    ? new StreamableHTTPClientTransport(new URL(target.url), { authProvider })
    : new StdioClientTransport({ ...target, env: process.env });
const client = new Client({ name: "witness-v1", version: "1" });
if (login) await connectAfterLogin(client, open);
else await client.connect(open());
await transcript(client, JSON.parse(process.argv[3]));
