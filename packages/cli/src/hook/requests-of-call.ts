import { requestOfUrl, type AccessRequest } from './access-request.ts'
import type { ToolRequest, ToolCall } from './hook-format.ts'
import { pathSpellings } from './path-spellings.ts'

export type HookRequests =
  | { readonly ok: true; readonly requests: readonly AccessRequest[] }
  /** `problem` completes "the call …". */
  | { readonly ok: false; readonly problem: string }

/** The requests that must all be allowed for a tool call. */
export async function requestsOfCall(call: ToolCall, home: string): Promise<HookRequests> {
  const requests = new Map<string, AccessRequest>()
  for (const toolRequest of call.requests) {
    const asked = await requestsOf(toolRequest, { cwd: call.cwd, home })
    if (!asked.ok) return asked
    for (const request of asked.requests) requests.set(JSON.stringify(request), request)
  }
  return { ok: true, requests: [...requests.values()] }
}

async function requestsOf(
  toolRequest: ToolRequest,
  from: { readonly cwd: string | null; readonly home: string },
): Promise<HookRequests> {
  switch (toolRequest.kind) {
    case 'unclear':
      return { ok: false, problem: toolRequest.problem }
    case 'url': {
      const request = requestOfUrl(toolRequest.url)
      if (request === null)
        return {
          ok: false,
          problem: `names \`${toolRequest.url}\`, which is no http or https address`,
        }
      return { ok: true, requests: [request] }
    }
    case 'path': {
      const paths = await pathSpellings(toolRequest.path, from)
      if (paths === null)
        return { ok: false, problem: `names \`${toolRequest.path}\`, which leads to no clear path` }
      return {
        ok: true,
        requests: paths.flatMap((path) => toolRequest.actions.map((action) => ({ action, path }))),
      }
    }
  }
}
