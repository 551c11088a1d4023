// The reference host of MCP Apps, as its package has it: tests put our pages into it.
import { AppBridge, PostMessageTransport } from "@modelcontextprotocol/ext-apps/app-bridge";

/**
 * @param {string} html the resource's text
 * @param {Record<string, unknown>} asked the arguments of the tool's call
 * @param {any} result its result
 * @param {any} context the context of the view
 */
globalThis.host = async (html, asked, result, context) => {
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts");
  frame.title = "app";
  frame.style.width = "100%";
  frame.style.height = "600px";
  document.body.replaceChildren(frame);
  const inner = /** @type {Window} */ (frame.contentWindow);
  const bridge = new AppBridge(null, { name: "tests", version: "1" }, { serverTools: {}, logging: {} }, { hostContext: context });
  globalThis.sizes = [];
  globalThis.seen = new Promise((resolve) => {
    bridge.oninitialized = () => resolve(bridge.getAppVersion?.() ?? true);
  });
  bridge.onsizechange = (size) => globalThis.sizes.push(size);
  bridge.oncalltool = (params) => globalThis.callTool(params.name, params.arguments ?? {});
  await bridge.connect(new PostMessageTransport(inner, inner));
  frame.srcdoc = html;
  await globalThis.seen;
  await bridge.sendToolInput({ arguments: asked });
  await bridge.sendToolResult(result);
};
