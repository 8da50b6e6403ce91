// As v1.mjs, through the TypeScript SDK v2. The target's `mode` is the era it asks for: auto or legacy.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { transcript } from "./transcript.mjs";

const { mode, ...target } = JSON.parse(process.argv[2]);
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({ ...target, env: process.env });
const client = new Client({ name: "witness-v2", version: "1" }, { versionNegotiation: { mode } });
await client.connect(transport);
await transcript(client, JSON.parse(process.argv[3]));
