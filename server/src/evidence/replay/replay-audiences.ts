import { decide, effectivePolicies, type Decision, type Policy } from '@palisade/policy-core'
import type { NotJudgedCause } from '@palisade/protocol'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import { compileSide, type CompiledSide, type ReplaySide } from './replay-side.ts'

export interface AudienceInput {
  readonly before: ReplaySide
  readonly after: ReplaySide
  /** Ids of the teams of a member; null for a user who is no member. */
  readonly teamsOf: (username: string) => readonly string[] | null
  /** Whether members of these teams observe at present; absent means that all enforce. */
  readonly observes?: ((teams: readonly string[]) => boolean) | undefined
  /** The present time in milliseconds since 1970, by which rules of both sides expire. */
  readonly now: number
}

/** Decides a recorded request by both sides. */
export type Evaluator = (tuple: EvidenceTuple) => DecisionPair | NotJudged

export interface DecisionPair {
  readonly before: Decision
  readonly after: Decision
}

/** Why a record cannot be decided anew; a replay itself counts records that are too many. */
export type NotJudged = Exclude<NotJudgedCause, 'too_many'>

/** Users to whom the same policies apply, before and after. */
export interface Audience {
  /** Compiles both sides, which are not kept. */
  compile(): Evaluator
}

/** Devices without a user have the policies of everybody. */
export function createAudiences(input: AudienceInput) {
  const { before, after, teamsOf, observes = () => false } = input
  const byUser = new Map<string | null, Audience | null>()
  const byTeams = new Map<string, Audience>()
  const byPolicies = new Map<string, Audience>()
  const numberOf = numberPolicies([before, after])

  function ofTeams(teams: readonly string[]): Audience {
    const policies = [before, after].map((side) =>
      effectivePolicies(side.policies, teams).map(numberOf),
    )
    const isObserving = observes(teams)
    const key = JSON.stringify([isObserving, policies])
    const known = byPolicies.get(key)
    if (known !== undefined) return known
    const compile = (): Evaluator => compileEvaluator(input, teams)
    const audience = { compile: () => (isObserving ? observe(compile()) : compile()) }
    byPolicies.set(key, audience)
    return audience
  }

  function find(username: string | null): Audience | null {
    const teams = username === null ? [] : teamsOf(username)
    if (teams === null) return null
    const key = JSON.stringify(teams.toSorted())
    const audience = byTeams.get(key) ?? ofTeams(teams)
    byTeams.set(key, audience)
    return audience
  }

  return {
    /** Null for a user who is no member. */
    of(username: string | null): Audience | null {
      const known = byUser.get(username)
      if (known !== undefined) return known
      const found = find(username)
      byUser.set(username, found)
      return found
    },
  }
}

/** A policy that both sides share is one object. */
function numberPolicies(sides: readonly ReplaySide[]): (policy: Policy) => number {
  const numbers = new Map<Policy, number>()
  for (const { policies } of sides)
    for (const policy of policies) if (!numbers.has(policy)) numbers.set(policy, numbers.size)
  return (policy) => numbers.get(policy) ?? -1
}

function compileEvaluator(
  { before, after, now }: AudienceInput,
  teams: readonly string[],
): Evaluator {
  const one = compileSide(before, teams, now)
  const other = hasSame(before, after, teams) ? one : compileSide(after, teams, now)
  return (tuple) => {
    const request = requestOf(tuple)
    if (typeof request === 'string') return request
    if ('path' in request && dependsOnHome([one, other], request)) return 'home_unknown'
    const decided = decide(one.compiled, request)
    if (decided.reason === 'invalid_request') return 'invalid_request'
    return { before: decided, after: one === other ? decided : decide(other.compiled, request) }
  }
}

/**
 * A replay shows how machines would enforce. While they observe, a request that no rule matches is
 * allowed nevertheless, so that a deny rule changes more than enforcement shows.
 */
function observe(evaluate: Evaluator): Evaluator {
  return (tuple) => {
    const outcome = evaluate(tuple)
    if (typeof outcome === 'string') return outcome
    const { before, after } = outcome
    if (before.decision === 'allow' || after.decision === 'allow') return outcome
    if (before.reason === after.reason) return outcome
    return { before: toObserved(before), after: toObserved(after) }
  }
}

function toObserved(decision: Decision): Decision {
  if (decision.reason !== 'default_deny') return decision
  return { ...decision, decision: 'allow', reason: 'observed' }
}

function hasSame(before: ReplaySide, after: ReplaySide, teams: readonly string[]): boolean {
  const [one, other] = [before, after].map(({ policies }) => effectivePolicies(policies, teams))
  return (
    before.default === after.default &&
    before.resolve_unlisted_names === after.resolve_unlisted_names &&
    one?.length === other?.length &&
    one?.every((policy, index) => policy === other?.[index]) === true
  )
}

function dependsOnHome(
  sides: readonly CompiledSide[],
  { action, path }: { readonly action: string; readonly path: string },
): boolean {
  return sides.some(({ mayDependOnHome }) => mayDependOnHome(action, path))
}

type RecordedRequest =
  | { readonly action: string; readonly path: string }
  | {
      readonly action: string
      readonly host: string
      readonly port: number
      readonly address?: string
    }

/** The request of a record. A name with an address is decided with it, as the machine did. */
function requestOf(tuple: EvidenceTuple): RecordedRequest | NotJudged {
  const { action, host, port, address, path, path_cut } = tuple
  if (action === null) return 'invalid_request'
  if (action === 'read' || action === 'write')
    return path === null || path_cut ? 'path_cut' : { action, path }
  if (host === null || port === null) return 'invalid_request'
  return { action, host, port, ...(address === null ? {} : { address }) }
}
