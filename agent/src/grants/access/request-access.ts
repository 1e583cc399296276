import {
  accessRequestSchema,
  listAccessRequestsResponseSchema,
  parseJson,
  createAccessRequestSchema,
  type LocalAccessList,
  type LocalAccessResult,
} from '@palisade/protocol'
import { createTimeBudget, type TimeBudget } from '../../sync/hint/time-budget.ts'
import { fault, type Fault } from '../../sync/fault.ts'
import type { Fetched, FetchFile } from '../../sync/transport/fetch-file.ts'
import type { GrantStates } from './grant-states.ts'

const PATH = '/api/v1/device/access-requests'
const MAX_ANSWER_BYTES = 64 * 1024
/** A hundred requests of ten patterns each. */
const MAX_LIST_BYTES = 8 * 1024 * 1024
/** Requests in a row, and the time that makes room for another. */
const AT_ONCE = 10
const SPACE_MS = 60_000
/** The list of the server is kept for so long, because callers that wait ask again and again. */
const KEPT_MS = 3_000

/** Access requests of the user of this machine, at the server. */
export interface AccessRequests {
  ask(body: unknown): Promise<LocalAccessResult>
  list(): Promise<LocalAccessList>
  /** For the programs of one sandbox: fewer requests, and a list of their own ones only. */
  forSandbox(): Pick<AccessRequests, 'ask' | 'list'>
}

export function createAccessRequests(deps: {
  readonly fetchFile: FetchFile
  readonly enrolment: { readonly user: string | null }
  readonly grants: GrantStates
  /** Monotonic milliseconds. */
  readonly uptime: () => number
}): AccessRequests {
  const { fetchFile, grants, uptime } = deps
  const never = new AbortController().signal
  const machine = createTimeBudget(AT_ONCE * SPACE_MS, uptime)
  let kept: { readonly atMs: number; readonly list: Promise<Fetched> } | null = null

  const fetchList = (): Promise<Fetched> => {
    if (kept === null || uptime() - kept.atMs >= KEPT_MS) {
      const file = { path: `${PATH}?page_size=100`, maxBytes: MAX_LIST_BYTES, readsRefusal: true }
      kept = { atMs: uptime(), list: fetchFile(file, never) }
    }
    return kept.list
  }

  const send = async (
    body: unknown,
    budgets: readonly TimeBudget[],
  ): Promise<LocalAccessResult> => {
    const read = createAccessRequestSchema.safeParse(body)
    if (!read.success) return failed('invalid_argument', describeIssue(read.error.issues))
    if (deps.enrolment.user === null) return failed('no_user', NO_USER)
    const owedMs = Math.max(...budgets.map((budget) => budget.owedMs()))
    if (owedMs > 0)
      return failed('limit_exceeded', `too many requests; ask again in ${inSeconds(owedMs)} s`)
    for (const budget of budgets) budget.spend(SPACE_MS)
    kept = null
    const file = { path: PATH, maxBytes: MAX_ANSWER_BYTES, readsRefusal: true }
    const sent = await fetchFile({ ...file, body: JSON.stringify(read.data) }, never)
    const request = readBody(sent, accessRequestSchema)
    if ('kind' in request) return failed(codeOf(request), request.message)
    return { outcome: 'requested', request, error: null }
  }

  const list = async (): Promise<LocalAccessList> => {
    const answer = readBody(await fetchList(), listAccessRequestsResponseSchema)
    const shown = [...grants.list()]
    if (!('kind' in answer)) return { requests: answer.data, grants: shown, error: null }
    const error = { code: codeOf(answer), message: answer.message }
    return { requests: [], grants: shown, error }
  }

  return {
    ask: (body) => send(body, [machine]),
    list,
    forSandbox() {
      const own = createTimeBudget((AT_ONCE / 2) * SPACE_MS, uptime)
      const ids = new Set<string>()
      return {
        async ask(body) {
          const result = await send(body, [machine, own])
          if (result.request !== null) ids.add(result.request.id)
          return result
        },
        async list() {
          const { requests, ...rest } = await list()
          return { ...rest, requests: requests.filter(({ id }) => ids.has(id)) }
        },
      }
    },
  }
}

const NO_USER =
  'this device has no user, and access is granted to users; ' +
  'enrol it for a user, or ask an editor for a rule'
const TOO_OLD = 'the server does not know access requests; its operator has to update it'

interface Schema<T> {
  safeParse(value: unknown): { readonly data?: T | undefined }
}

function readBody<T extends object>(fetched: Fetched, schema: Schema<T>): T | Fault {
  if (fetched.kind === 'fault') return fetched
  if (fetched.kind !== 'body') return fault('http_status', TOO_OLD)
  const json = parseJson(fetched.body.toString())
  const value = json.ok ? schema.safeParse(json.value).data : undefined
  return value ?? fault('malformed', 'the answer of the server to the access request is invalid')
}

function failed(code: string, message: string): LocalAccessResult {
  return { outcome: 'failed', request: null, error: { code, message } }
}

/** The code in the envelope of the server says more than that of the transport. */
function codeOf({ code, refusal }: Fault): string {
  return refusal ?? code
}

function describeIssue(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): string {
  const [issue] = issues
  if (issue === undefined) return 'the access request is invalid'
  return issue.path.length === 0 ? issue.message : `\`${issue.path.join('.')}\`: ${issue.message}`
}

function inSeconds(ms: number): number {
  return Math.ceil(ms / 1000)
}
