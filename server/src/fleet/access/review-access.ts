import {
  compare,
  compilePolicy,
  decide,
  isNoWider,
  lint,
  type CompiledPolicy,
  type Policy,
} from '@palisade/policy-core'
import type { AccessEffect, AccessReview } from '@palisade/protocol'
import type { EvidenceStore, StoredEvidence } from '../../evidence/store/evidence-store.ts'
import { formatPolicy } from '../../history/format-policy.ts'
import { createTurnEnds, nextTurn } from '../../platform/next-turn.ts'
import { listHeads } from '../../store/list-heads.ts'
import type { PolicyRecord } from '../../store/records.ts'
import type { StoreReader } from '../../store/store.ts'
import { compileAllowed, policyOf, type Allowed } from './require-grantable.ts'

/** A set of this size compiles in some milliseconds; a review compiles it for each resource. */
const MAX_RESOURCES = 2_000
const MAX_STEPS = 50_000
/** Denials that are looked at. */
const PAGE = { rows: 500, pages: 4 } as const
const RECENT_MS = 30 * 24 * 60 * 60_000

/** A grant, or a request for one, of a user. */
export interface Reviewed extends Allowed {
  readonly org: string
  readonly username: string
}

/** Rules of the policies of a user about one action; null where they are too many. */
export type UserRules = readonly Policy[] | null

export interface ReviewDeps {
  readonly evidence: Pick<EvidenceStore, 'list'>
  readonly now: () => Date
}

/** Reads the policies that apply to the user, without rules about other actions. */
export async function readUserRules(
  reader: StoreReader,
  { org, username, action }: Pick<Reviewed, 'action' | 'org' | 'username'>,
): Promise<UserRules> {
  const teams = new Set(await reader.teams.listOfUser(org, username))
  const policies: Policy[] = []
  let count = 0
  for (const { id, teams: scope } of await listHeads(reader, org)) {
    if (scope.length > 0 && !scope.some((team) => teams.has(team))) continue
    const record = await reader.policies.find(org, id)
    if (record === null) continue
    const rules = record.rules.filter(({ actions }) => actions.includes(action))
    count += rules.reduce((sum, { resources }) => sum + resources.length, 0)
    if (count > MAX_RESOURCES) return null
    if (rules.length > 0) policies.push(toPolicy({ ...record, rules }))
  }
  return policies
}

function toPolicy(record: PolicyRecord): Policy {
  return formatPolicy(record)
}

/** What the grant changes for its user, and which of the user's denials it would have allowed. */
export async function reviewAccess(
  deps: ReviewDeps,
  reviewed: Reviewed,
  rules: UserRules,
): Promise<AccessReview> {
  const { action, resources, username } = reviewed
  const home = `/home/${username}`
  const now = deps.now().getTime()
  const effects: AccessReview['resources'] = []
  for (const resource of resources) {
    const allowed = { action, resources: [resource] }
    const effect = rules === null ? 'unknown' : effectOf(allowed, rules, { home, now })
    effects.push({ resource, effect })
    await nextTurn()
  }
  const findings = lint({ policies: [policyOf(reviewed)] }).map(
    ({ code, severity, message, mend }) => ({ code, severity, message, mend }),
  )
  const recorded = await countRecorded(deps, reviewed, compileAllowed(reviewed, home))
  return { findings, resources: effects, recorded }
}

function effectOf(
  allowed: Allowed,
  rules: readonly Policy[],
  { home, now }: { readonly home: string; readonly now: number },
): AccessEffect {
  const options = { maxSteps: MAX_STEPS, now }
  const grant = policyOf(allowed)
  // Policies may have the highest cost already, and nothing is decided here.
  const compile = (policies: readonly Policy[]) =>
    compilePolicy({ policies, home }, { patternLimits: false })
  const denies = rules.map(onlyDenies)
  const left = compare(compile([]), compile([...denies, grant]), options)
  if (!left.complete) return 'unknown'
  if (left.reachable.length === 0) return 'denied'
  const opened = compare(compile(rules), compile([...rules, grant]), options)
  if (!opened.complete) return 'unknown'
  if (opened.reachable.length === 0) return 'allowed'
  const whole = isNoWider(compile([...denies, grant]), compile([grant]), options)
  if (whole.answer === 'unknown') return 'unknown'
  return whole.answer === 'yes' ? 'opens' : 'partly_denied'
}

function onlyDenies(policy: Policy): Policy {
  const rules = (policy.allowlist_v0?.rules ?? []).filter(({ decision }) => decision === 'deny')
  return { ...policy, allowlist_v0: { rules } }
}

/** Repetitions count each; a path that was cut for its upload cannot be decided. */
async function countRecorded(
  { evidence, now }: ReviewDeps,
  { org, username, action }: Reviewed,
  grant: CompiledPolicy,
): Promise<AccessReview['recorded']> {
  const nowMs = now().getTime()
  const filter = {
    fromMs: nowMs - RECENT_MS,
    toMs: nowMs + 1,
    username,
    device_id: null,
    session: null,
    decision: 'deny',
    mode: null,
    actions: [action],
    program: null,
    rule_id: null,
    resource: null,
    text: null,
  } as const
  let requests = 0
  let lastMs: number | null = null
  let before = null
  const pause = createTurnEnds()
  for (let page = 0; page < PAGE.pages; page += 1) {
    const { rows, next } = await evidence.list(org, filter, { before, limit: PAGE.rows })
    for (const row of rows) {
      // Machines choose their paths, and a decision on a long one takes a millisecond or more.
      await pause()
      if (!isAllowedBy(grant, row)) continue
      requests += row.decisions
      lastMs = Math.max(lastMs ?? 0, row.last_ms)
    }
    before = next
    if (next === null) break
  }
  const last_at = lastMs === null ? null : new Date(lastMs).toISOString()
  return { requests, last_at, complete: before === null }
}

function isAllowedBy(grant: CompiledPolicy, { tuple }: StoredEvidence): boolean {
  const { action, host, port, address, path, path_cut, reason } = tuple
  // A grant lifts no other denial.
  if (path_cut || reason !== 'default_deny') return false
  const request =
    host === null
      ? { action, path }
      : { action, host, port, ...(address === null ? {} : { address }) }
  return decide(grant, request).decision === 'allow'
}
