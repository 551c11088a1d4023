// The TypeScript SDK of the second line.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { NAME, asked, play } from "./session.mjs";

const { command, url, calls } = asked();
const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command: command[0], args: command.slice(1), stderr: "ignore" });
const client = new Client(NAME);
await client.connect(transport);
await play(client, calls);
