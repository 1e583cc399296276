import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, notFound } from '../../platform/api-error.ts'
import { pathOfTarget } from '../request-target.ts'

/** Registered paths, such as `/v2/orgs/:org/governance/policies`, and their methods. */
export type RouteTable = ReadonlyMap<string, ReadonlySet<string>>

/** The answer to a request without a matching route. */
export type Unrouted =
  | { readonly kind: 'options'; readonly allow: string }
  | { readonly kind: 'refused'; readonly error: ApiError }

/**
 * Answers requests without a matching route, in `onRequest`: before credentials and body are read.
 * Routes registered later are included.
 */
export function registerUnrouted(app: FastifyInstance): void {
  const routes = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set()
    for (const name of [method].flat()) methods.add(name)
    routes.set(url, methods)
  })
  const answer = (request: FastifyRequest, reply: FastifyReply): FastifyReply => {
    const unrouted = answerUnrouted(routes, request.method, request.url)
    if (unrouted.kind === 'refused') throw unrouted.error
    return reply.code(204).header('allow', unrouted.allow).send()
  }
  app.addHook('onRequest', (request, reply, done) => {
    if (request.is404 || hasEmptyParameter(request)) answer(request, reply)
    else done()
  })
  app.setNotFoundHandler(answer)
}

/** The router accepts an empty `:name`, so `/policies/` would be a policy without an id. */
function hasEmptyParameter(request: FastifyRequest): boolean {
  const parameters = request.params as Readonly<Record<string, string>>
  for (const name in parameters) if (parameters[name] === '' && name !== '*') return true
  return false
}

/** Returns 404 for an unknown path, 405 with `Allow` for a known one, and an answer to OPTIONS. */
function answerUnrouted(routes: RouteTable, method: string, url: string): Unrouted {
  const path = decodePath(pathOfTarget(url))
  const methods = path === null ? new Set<string>() : methodsOf(routes, path)
  // A known path and method without a match: the router refused a parameter.
  if (methods.size === 0 || methods.has(method))
    return { kind: 'refused', error: notFound('no such path') }
  const allow = [...methods, 'OPTIONS'].toSorted().join(', ')
  if (method === 'OPTIONS') return { kind: 'options', allow }
  const error = new ApiError(405, 'invalid_argument', `this path does not allow \`${method}\``, {
    headers: { allow },
  })
  return { kind: 'refused', error }
}

function methodsOf(routes: RouteTable, path: string): Set<string> {
  const methods = new Set<string>()
  const segments = path.split('/')
  for (const [pattern, ofPattern] of routes)
    if (matches(pattern.split('/'), segments)) for (const method of ofPattern) methods.add(method)
  return methods
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const open = pattern.at(-1) === '*'
  if (open ? segments.length < pattern.length : segments.length !== pattern.length) return false
  return pattern.every((part, index) => {
    if (part === '*') return true
    const segment = segments[index] ?? ''
    return part.startsWith(':') ? segment !== '' : part === segment
  })
}

/** Decodes like the router: reserved characters stay encoded, so `%2F` never splits a segment. */
function decodePath(path: string): string | null {
  try {
    return decodeURI(path)
  } catch {
    return null
  }
}
