// Calls tools through the TypeScript SDK v1, which checks each answer against its output schema.
// Usage: node v1.mjs '{"url": …} or {"command": …, "args": […]}' '[{"name": …, "arguments": {…}}]'
// Prints one JSON array: for each call its result, or what the client threw.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { transcript } from "./transcript.mjs";

const target = JSON.parse(process.argv[2]);
const transport = target.url
  ? new StreamableHTTPClientTransport(new URL(target.url))
  : new StdioClientTransport({ ...target, env: process.env });
const client = new Client({ name: "witness-v1", version: "1" });
await client.connect(transport);
await transcript(client, JSON.parse(process.argv[3]));
