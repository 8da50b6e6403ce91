// A host of MCP Apps, by the extension's SDK: it shows a tool's answer in the view the tool names.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { AppBridge, PostMessageTransport, getToolUiResourceUri } from "@modelcontextprotocol/ext-apps/app-bridge";

const HOST = { name: "witness-host", version: "1" };
const MEDIA_TYPE = "text/html;profile=mcp-app";
// The policy that the extension's page gives to views which declare no domains.
const POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
  "img-src 'self' data:; media-src 'self' data:; connect-src 'none'";

window.opened = [];

window.show = async ({ url, tool, given, refuses = false, capabilities = { openLinks: {}, serverTools: {} }, hostContext = {} }) => {
  const extensions = { "io.modelcontextprotocol/ui": { mimeTypes: [MEDIA_TYPE] } };
  const client = new Client(HOST, { capabilities: { extensions }, versionNegotiation: { mode: "auto" } });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  const { tools } = await client.listTools();
  const uri = getToolUiResourceUri(tools.find((one) => one.name === tool));
  const [view] = (await client.readResource({ uri })).contents;
  if (view.mimeType !== MEDIA_TYPE) throw new Error(view.mimeType);

  const frame = document.createElement("iframe");
  frame.title = tool;
  frame.sandbox = "allow-scripts";
  frame.style.width = "100%";
  document.body.replaceChildren(frame);
  const bridge = new AppBridge(client, HOST, capabilities, { hostContext });
  bridge.onopenlink = async (params) => {
    window.opened.push(params.url);
    return {};
  };
  bridge.onsizechange = ({ height }) => (frame.style.height = `${height}px`);
  const initialized = new Promise((resolve) => (bridge.oninitialized = resolve));
  await bridge.connect(new PostMessageTransport(frame.contentWindow, frame.contentWindow));
  if (refuses) {
    bridge.oncalltool = async () => {
      throw new Error("not without the person's consent");
    };
  }
  frame.srcdoc = view.text.replace("<head>", `<head><meta http-equiv="content-security-policy" content="${POLICY}">`);
  await initialized;
  await bridge.sendToolInput({ arguments: given });
  await bridge.sendToolResult(await client.callTool({ name: tool, arguments: given }));
  window.bridge = bridge;
};
window.isReady = true;
