import { PolicyError, type Policy, type Steps } from '@palisade/policy-core'
import {
  addLocalDenyRequestSchema,
  MAX_LOCAL_DENIES,
  removeLocalDenyRequestSchema,
  type AddLocalDenyRequest,
  type LocalDeny,
  type LocalRulesResult,
} from '@palisade/protocol'
import type { AgentLog } from '../../host/agent-log.ts'
import type { ActivePolicy } from '../decision/active-policy.ts'
import { runInTurns } from '../decision/run-in-turns.ts'
import { writeDenies } from './deny-file.ts'
import { checkDenies, denyPolicies } from './deny-policies.ts'

export interface LocalRulesDeps {
  readonly file: string
  /** The content of the file. */
  readonly denies: readonly LocalDeny[]
  /** Policies of PALISADE_LOCAL_POLICIES, which count beside the denies. */
  readonly localPolicies: readonly Policy[]
  readonly active: Pick<ActivePolicy, 'replaceLocal'>
  /** Epoch milliseconds. */
  readonly clock: () => number
  /** Monotonic milliseconds. */
  readonly uptime: () => number
  readonly log: Pick<AgentLog, 'info' | 'warn'>
}

/** The user's own denies. The agent alone writes their file. */
export interface LocalRules {
  /** `request` is an `AddLocalDenyRequest` as received. At the end it is on disk and in force. */
  readonly addDeny: (request: unknown) => Promise<LocalRulesResult>
  readonly removeDenies: (request: unknown) => Promise<LocalRulesResult>
}

/** Changes take turns, so that each is checked against the result of the one before. */
export function createLocalRules(deps: LocalRulesDeps): LocalRules {
  let { denies } = deps
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <T>(change: () => Promise<T>): Promise<T> => {
    const turn = last.then(change)
    last = turn.catch(() => null)
    return turn
  }

  const inSteps = <T>(steps: Steps<T>): Promise<T> =>
    runInTurns(steps, new AbortController().signal, deps.uptime)

  /** Null after a success. On disk first: a deny in force must survive a restart. */
  const replace = async (next: readonly LocalDeny[]): Promise<LocalRulesResult | null> => {
    try {
      await inSteps(checkDenies(next))
    } catch (error) {
      if (error instanceof PolicyError) return failed('invalid_request', describe(error))
      throw error
    }
    try {
      await writeDenies(deps.file, next)
    } catch (err) {
      deps.log.warn({ err }, 'the local rules cannot be written')
      return failed('not_written', `\`${deps.file}\` cannot be written`)
    }
    denies = next
    const policies = [...deps.localPolicies, ...denyPolicies(next)]
    await inSteps(deps.active.replaceLocal(policies))
    return null
  }

  return {
    addDeny: (request) =>
      inTurn(async () => {
        const parsed = addLocalDenyRequestSchema.safeParse(request)
        if (!parsed.success) return invalid(parsed.error.issues)
        const same = denies.find((deny) => isSame(deny, parsed.data))
        if (same !== undefined) return { outcome: 'unchanged', denies: [same], error: null }
        if (denies.length >= MAX_LOCAL_DENIES)
          return failed(
            'limit_exceeded',
            `a machine keeps at most ${MAX_LOCAL_DENIES} local denies`,
          )
        const added = makeDeny(parsed.data, denies, deps.clock())
        const failure = await replace([...denies, added])
        if (failure !== null) return failure
        deps.log.info({ id: added.id }, 'a local deny was added')
        return { outcome: 'added', denies: [added], error: null }
      }),

    removeDenies: (request) =>
      inTurn(async () => {
        const parsed = removeLocalDenyRequestSchema.safeParse(request)
        if (!parsed.success) return invalid(parsed.error.issues)
        const { resource, actions } = parsed.data
        const removed = denies.filter(
          (deny) =>
            deny.resource === resource &&
            (actions === undefined || deny.actions.some((action) => actions.includes(action))),
        )
        if (removed.length === 0) return { outcome: 'unchanged', denies: [], error: null }
        const failure = await replace(denies.filter((deny) => !removed.includes(deny)))
        if (failure !== null) return failure
        deps.log.info({ ids: removed.map(({ id }) => id) }, 'local denies were removed')
        return { outcome: 'removed', denies: removed, error: null }
      }),
  }
}

function makeDeny(
  { name, actions, resource }: AddLocalDenyRequest,
  others: readonly LocalDeny[],
  nowMs: number,
): LocalDeny {
  const used = others.map(({ id }) => Number(/^deny_(\d+)$/.exec(id)?.[1] ?? 0))
  return {
    id: `deny_${Math.max(0, ...used) + 1}`,
    name: name ?? nameAfter(resource),
    actions,
    resource,
    created_at: new Date(nowMs).toISOString(),
  }
}

/** Names are shorter than resources may be. */
const MAX_DEFAULT_NAME = 255

/** Valid when the file is read again: NFC may be longer than its source. */
function nameAfter(resource: string): string {
  return [...resource.normalize('NFC')].slice(0, MAX_DEFAULT_NAME).join('').trim()
}

function isSame(deny: LocalDeny, { actions, resource }: AddLocalDenyRequest): boolean {
  return deny.resource === resource && actions.every((action) => deny.actions.includes(action))
}

function describe({ problems: [problem], message }: PolicyError): string {
  return problem?.message ?? message
}

function invalid(
  issues: readonly { readonly path: readonly PropertyKey[]; readonly message: string }[],
): LocalRulesResult {
  const [issue] = issues
  const member = issue?.path.join('.') || 'the request'
  return failed('invalid_request', `${member}: ${issue?.message ?? 'is invalid'}`)
}

function failed(code: string, message: string): LocalRulesResult {
  return { outcome: 'failed', denies: [], error: { code, message } }
}
