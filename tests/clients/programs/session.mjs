// What every program of this folder does: connect, list the tools, call some, and print what came.

/** Runs `calls` through a connected client and prints the outcome as one line of JSON. */
export async function play(client, calls) {
  const { tools } = await client.listTools();
  const results = [];
  for (const [name, args] of calls) {
    try {
      const result = await client.callTool({ name, arguments: args });
      const text = result.content.map((part) => part.text ?? "").join("\n");
      results.push({ text, refused: result.isError === true });
    } catch (error) {
      results.push({ text: String(error.message ?? error), raised: true });
    }
  }
  await client.close();
  console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), results }));
}

/** What the test asks for: `{"command": [...]}` or `{"url": "..."}`, and the calls. */
export function asked() {
  return JSON.parse(process.argv[2]);
}

export const NAME = { name: "canonry-tests", version: "1.0.0" };
