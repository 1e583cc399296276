import type { Explanation } from '@palisade/policy-core'
import { LOCAL_API, SANDBOX_AGENT, SANDBOX_PROXY } from '@palisade/protocol'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { AccessRequests } from '../grants/access/request-access.ts'
import type { ActivePolicy } from '../policy/decision/active-policy.ts'
import { createLoopTurns } from '../http/loop-turns.ts'
import { createApiServer } from './api-server.ts'
import { decideAsAsked } from './decide-as-proxy.ts'
import type { Refusal } from '../http/envelope.ts'
import {
  createBatchRoute,
  createQuestionRoutes,
  type QuestionDeps,
  type QuestionLimits,
} from './question-routes.ts'
import type { IsOwnAddress } from '../proxy/target/proxy-loop.ts'
import type { Resolve } from '../proxy/target/resolver.ts'
import type { RecordedEvent } from '../records/recorded-event.ts'
import type { ServeSandboxApi } from '../sandbox/serve-network.ts'
import {
  createConfine,
  HOST_ADDRESSES,
  HOST_NAME,
  type Confine,
} from '../sandbox/network/confine.ts'

export interface SandboxApiDeps extends Pick<
  QuestionDeps,
  'status' | 'policies' | 'log' | 'flushTimeoutMs'
> {
  readonly active: Pick<ActivePolicy, 'decide' | 'explain'>
  readonly access: Pick<AccessRequests, 'forSandbox'>
  readonly resolve: Resolve
  readonly isOwnAddress: IsOwnAddress
  /** Called with each decision of a sandbox. */
  readonly onEvent: (event: RecordedEvent) => void
  readonly onError: (error: unknown) => void
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}

const LIMITS: QuestionLimits = {
  explanations: 4,
  listings: 1,
  logs: 1,
  batches: 2,
  accessRequests: 4,
}
const MAX_CONNECTIONS = 32

/**
 * The read-only part of the local API, for programs in a sandbox, and the request for access, which
 * a person answers elsewhere. Decisions are those for a program of the sandbox and are recorded as
 * its own, and the log has its records only.
 *
 * Explanations of all sandboxes share one queue, apart from that of the machine's local API, so
 * that a sandbox that asks for many delays no person.
 */
export function createServeSandboxApi(deps: SandboxApiDeps): ServeSandboxApi {
  const { onEvent } = deps
  const turns = createLoopTurns()
  const confine = createConfine()
  const shared = {
    ...deps,
    active: confineAnswers(deps.active, confine),
    resolve: (name: string) =>
      name === HOST_NAME ? Promise.resolve(HOST_ADDRESSES) : deps.resolve(name),
  }
  const { explain } = decideAsAsked(shared)
  return async (sandbox, listener) => {
    const asked = decideAsAsked({
      ...shared,
      onEvent: (event) => onEvent({ ...event, sandbox }),
    })
    const access = deps.access.forSandbox()
    const questions: QuestionDeps = {
      ...deps,
      requestAccess: access.ask,
      accessRequests: access.list,
      ...asked,
      explain,
      status() {
        const { upload: _ofMachine, ...status } = deps.status()
        // The machine's own proxy is out of reach.
        return { ...status, proxy: SANDBOX_PROXY }
      },
      log: (query, reader) => deps.log({ ...query, sandbox }, reader),
    }
    const server = createApiServer({
      ...deps,
      turns,
      routes: createQuestionRoutes(questions, LIMITS),
      batches: createBatchRoute(questions, turns, LIMITS.batches),
      maxConnections: MAX_CONNECTIONS,
      screen: screenRequest,
    })
    server.listen(listener)
    await once(server, 'listening')
    return {
      close() {
        server.close()
        server.closeAllConnections()
      },
    }
  }
}

function confineAnswers(
  { decide, explain }: SandboxApiDeps['active'],
  confine: Confine,
): SandboxApiDeps['active'] {
  return {
    decide: (request) => confine(decide(request)),
    explain: (request) => confineExplanation(explain(request), confine),
  }
}

/** Rules that allow the request match, but do not decide. */
function confineExplanation<E extends Explanation>(made: E, confine: Confine): E {
  const confined = confine(made)
  if (confined.decision === made.decision && confined.reason === made.reason) return confined
  return { ...confined, matched: made.matched.map((rule) => ({ ...rule, deciding: false })) }
}

const OWN_HOST = SANDBOX_AGENT.replace('http://', '')
const HOSTS: ReadonlySet<string> = new Set([OWN_HOST, OWN_HOST.replace('127.0.0.1', 'localhost')])
const KNOWN: ReadonlySet<string> = new Set(Object.values(LOCAL_API))
const OFFERED: ReadonlySet<string> = new Set([
  LOCAL_API.decide,
  LOCAL_API.explain,
  LOCAL_API.status,
  LOCAL_API.policies,
  LOCAL_API.requestAccess,
  LOCAL_API.accessRequests,
  LOCAL_API.log,
])

/**
 * Refuses pages of a browser, whose name may lead to this address (DNS rebinding), and requests
 * that only a program outside may send.
 */
function screenRequest({ headersDistinct, url = '' }: IncomingMessage): Refusal | null {
  const { host = [], origin } = headersDistinct
  const [named = ''] = host
  if (host.length !== 1 || !HOSTS.has(named.toLowerCase()))
    return refuse(`the \`Host\` must be \`${OWN_HOST}\``)
  if (origin !== undefined) return refuse('web pages may not ask the agent')
  const [path = ''] = url.split('?', 1)
  if (!KNOWN.has(path) || OFFERED.has(path)) return null
  if (path === LOCAL_API.sandboxes)
    return refuse('sandboxes do not nest: this is a sandbox already; run the command itself')
  return refuse('a program in a sandbox may only ask; run the command outside of the sandbox')
}

function refuse(message: string): Refusal {
  return { status: 403, code: 'permission_denied', message }
}
