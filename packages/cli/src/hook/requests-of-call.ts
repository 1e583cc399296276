import type { Ask, ToolCall } from './hook-format.ts'
import { pathSpellings } from './path-spellings.ts'

/** A request as the agent's local API takes it. */
export type HookRequest =
  | { readonly action: 'read' | 'write'; readonly path: string }
  | {
      readonly action: 'connect:tcp'
      readonly host: string
      readonly port: number
      readonly resolve: true
    }

export type HookRequests =
  | { readonly ok: true; readonly requests: readonly HookRequest[] }
  /** `problem` completes "the call …". */
  | { readonly ok: false; readonly problem: string }

/** The requests that must all be allowed for a tool call. */
export async function requestsOfCall(call: ToolCall, home: string): Promise<HookRequests> {
  const requests = new Map<string, HookRequest>()
  for (const ask of call.asks) {
    const asked = await requestsOf(ask, { cwd: call.cwd, home })
    if (!asked.ok) return asked
    for (const request of asked.requests) requests.set(JSON.stringify(request), request)
  }
  return { ok: true, requests: [...requests.values()] }
}

async function requestsOf(
  ask: Ask,
  from: { readonly cwd: string | null; readonly home: string },
): Promise<HookRequests> {
  switch (ask.kind) {
    case 'unclear':
      return { ok: false, problem: ask.problem }
    case 'url':
      return requestOfUrl(ask.url)
    case 'path': {
      const paths = await pathSpellings(ask.path, from)
      if (paths === null)
        return { ok: false, problem: `names \`${ask.path}\`, which leads to no clear path` }
      return {
        ok: true,
        requests: paths.flatMap((path) => ask.actions.map((action) => ({ action, path }))),
      }
    }
  }
}

/** The host as the URL standard reads it, which is how a fetch reads it. */
function requestOfUrl(text: string): HookRequests {
  const url = URL.parse(text)
  const usual = url?.protocol === 'https:' ? 443 : url?.protocol === 'http:' ? 80 : null
  if (url === null || usual === null)
    return { ok: false, problem: `names \`${text}\`, which is no http or https address` }
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = url.port === '' ? usual : Number(url.port)
  return { ok: true, requests: [{ action: 'connect:tcp', host, port, resolve: true }] }
}
