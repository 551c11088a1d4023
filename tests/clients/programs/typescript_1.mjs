// The TypeScript SDK of the first line, which checks every result against its output schema.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { NAME, asked, play } from "./session.mjs";

const { command, url, calls } = asked();
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "ignore" });
const client = new Client(NAME);
await client.connect(transport);
await play(client, calls);
