import { isNetworkAction, parseInstant } from '@palisade/policy-core'
import type { RuleUse, UnusedRule, UnusedRules, UnusedRulesQuery } from '@palisade/protocol'
import { readPage } from '../../http/input/read-page.ts'
import { nextTurn } from '../../platform/next-turn.ts'
import type { PolicyRecord, RuleRecord } from '../../store/records.ts'
import type { Store } from '../../store/store.ts'
import { MAX_AHEAD_MS } from '../store/evidence-record.ts'
import type { EvidenceFilter, EvidenceStore } from '../store/evidence-store.ts'
import { listUploadEnds } from '../upload-history.ts'

const DAY_MS = 24 * 60 * 60_000
/** A policy may have thousands of rules, each with some look-ups. */
const MOST_POLICIES = 10
/** Rules between two turns of the event loop. */
const RULES_IN_A_TURN = 20
/** Seeks of the first look at a rule, and of the second one when it found devices that are gone. */
const [FEW_SEEKS, MOST_SEEKS] = [2, 300]

const ANY_RECORD: Omit<EvidenceFilter, 'fromMs' | 'toMs'> = {
  username: null,
  device_id: null,
  session: null,
  decision: null,
  actions: null,
  program: null,
  mode: null,
  rule_id: null,
  resource: null,
  text: null,
}

export interface UnusedRulesDeps {
  readonly evidence: Pick<EvidenceStore, 'firstDay' | 'lastLimited' | 'list' | 'ruleUse'>
  readonly store: Pick<Store, 'read'>
  readonly pageTokenKey: Uint8Array
  readonly now: () => Date
}

/** One look at the evidence of an organization. */
interface RuleSearch {
  readonly org: string
  readonly nowMs: number
  /** The first day that counts, since 1970. */
  readonly day: number
  readonly covers: Readonly<Record<RuleRecord['decision'], boolean>>
  readonly isGone: (deviceId: string) => Promise<boolean>
}

/** The unused rules of one page of policies. Throws ApiError 400. */
export async function listUnusedRules(
  deps: UnusedRulesDeps,
  org: string,
  { since, page_size, page_token }: UnusedRulesQuery,
): Promise<UnusedRules> {
  const { evidence, store } = deps
  const firstDay = await evidence.firstDay(org)
  const lastLimitedMs = await evidence.lastLimited(org)
  const day = Math.max(since === undefined ? 0 : dayOf(Date.parse(since)), firstDay ?? 0)
  const size = String(Math.min(Number(page_size ?? 0) || MOST_POLICIES, MOST_POLICIES))
  const query = { page_size: size, ...(page_token === undefined ? {} : { page_token }) }
  const { upload, earlier, policies, next_page_token } = await store.read(async (reader) => {
    const list = { of: 'unused_rules', owner: org } as const
    const { rows, ...page } = await readPage(deps, list, query, {
      read: ({ after, limit }) => reader.policies.list(org, { afterId: after, limit }),
      positionOf: ({ id }) => id,
    })
    const read = await Promise.all(rows.map(({ id }) => reader.policies.find(org, id)))
    return {
      ...page,
      upload: (await reader.organizations.evidence(org)).upload,
      earlier: await listUploadEnds(reader, org, { fromMs: (day + 1) * DAY_MS, lastLimitedMs }),
      policies: read.filter((one) => one !== null),
    }
  })
  const uploads = [upload, ...(earlier?.map((each) => each.upload) ?? ['off'])]
  const nowMs = deps.now().getTime()
  const time = { fromMs: day * DAY_MS, toMs: nowMs + MAX_AHEAD_MS }
  const newest = await evidence.list(org, { ...ANY_RECORD, ...time }, { before: null, limit: 1 })
  const coversDenies = newest.rows.length > 0 && !uploads.includes('off')
  // A machine draws the same requests each time, so those of a rule may never be in the sample.
  const coversAllows = coversDenies && uploads.every((each) => each === 'full')
  const search: RuleSearch = {
    org,
    nowMs,
    day,
    covers: { allow: coversAllows, deny: coversDenies },
    isGone: createIsGone(store),
  }
  return {
    evidence: {
      upload,
      since: firstDay === null ? null : new Date(day * DAY_MS).toISOString(),
      judges_allows: coversAllows,
    },
    data: await listRules(evidence, search, policies),
    next_page_token,
  }
}

async function listRules(
  evidence: UnusedRulesDeps['evidence'],
  search: RuleSearch,
  policies: readonly PolicyRecord[],
): Promise<UnusedRule[]> {
  const found: UnusedRule[] = []
  let looked = 0
  for (const policy of policies)
    for (const rule of policy.rules) {
      looked += 1
      if (looked % RULES_IN_A_TURN === 0) await nextTurn()
      const use = await findUse(evidence, search, rule)
      const shown = formatRule(policy, rule, { use, nowMs: search.nowMs })
      if (use !== 'used' || shown.expired) found.push(shown)
    }
  return found
}

/**
 * A rule for files may hold paths below a workspace, which leaves no record. A rule counts as used
 * unless all of its records were seen to be of devices that are gone.
 */
async function findUse(
  evidence: UnusedRulesDeps['evidence'],
  { org, day, covers, isGone }: RuleSearch,
  { id, actions, decision }: RuleRecord,
): Promise<RuleUse> {
  const first = await evidence.ruleUse(org, id, { day, seeks: FEW_SEEKS })
  if (first.devices.length === 0 && first.isComplete) {
    if (first.isShadowed) return 'shadowed'
    return covers[decision] && actions.every(isNetworkAction) ? 'never' : 'unknown'
  }
  if (!(await areAllGone(first.devices, isGone))) return 'used'
  const whole = await evidence.ruleUse(org, id, { day, seeks: MOST_SEEKS })
  return whole.isComplete && (await areAllGone(whole.devices, isGone)) ? 'gone_devices' : 'used'
}

async function areAllGone(
  devices: readonly string[],
  isGone: RuleSearch['isGone'],
): Promise<boolean> {
  for (const device of devices) if (!(await isGone(device))) return false
  return true
}

/** Asks once for each device. */
function createIsGone(store: Pick<Store, 'read'>): RuleSearch['isGone'] {
  const known = new Map<string, boolean>()
  return async (deviceId) => {
    const before = known.get(deviceId)
    if (before !== undefined) return before
    const device = await store.read((reader) => reader.devices.findById(deviceId))
    const isGone = device === null || device.revoked_at !== null
    known.set(deviceId, isGone)
    return isGone
  }
}

function formatRule(
  { id: policy_id, name: policy_name, mode }: PolicyRecord,
  { id: rule_id, name: rule_name, decision, expires_at }: RuleRecord,
  { use, nowMs }: { readonly use: RuleUse; readonly nowMs: number },
): UnusedRule {
  const expiresMs = expires_at === undefined ? null : parseInstant(expires_at)
  return {
    policy_id,
    policy_name,
    ...(mode === undefined ? {} : { mode }),
    rule_id,
    rule_name,
    decision,
    use,
    expired: expiresMs !== null && expiresMs <= nowMs,
    ...(expires_at === undefined ? {} : { expires_at }),
  }
}

function dayOf(ms: number): number {
  return Math.floor(ms / DAY_MS)
}
