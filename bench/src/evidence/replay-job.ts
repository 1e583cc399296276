import type { Policy, Rule } from '@palisade/policy-core'
import { encodePolicy } from '../../../server/src/evidence/encoded-policies.ts'
import type { ReplayJob } from '../../../server/src/evidence/replay/replay-job.ts'

/** Records in a data directory, and the teams of their users. */
export interface Replayed {
  readonly dataDir: string
  readonly org: string
  readonly nowMs: number
  readonly users: number
}

/** Sets of teams. A user is in one of them. */
const TEAM_SETS = 50
const ZONES = 100
const MONTH_MS = 31 * 24 * 60 * 60_000

/**
 * Policies for everybody and for each team; a user is in two teams. The draft closes every tenth
 * zone of hosts and opens two of files.
 */
export function makeJob({ dataDir, org, nowMs, users }: Replayed): ReplayJob {
  const before = Array.from({ length: ZONES }, (_, zone) => policyOf(zone, zone % 4 !== 3))
  const after = Array.from({ length: ZONES }, (_, zone) =>
    zone % 10 === 0 ? policyOf(zone, zone % 20 === 0) : (before[zone] ?? null),
  ).filter((policy) => policy !== null)
  const all = [...new Set([...before, ...after])]
  const members = Array.from({ length: users }, (_, user): [string, readonly string[]] => {
    const set = user % TEAM_SETS
    return [`user-${user}`, [`team-${set}`, `team-${(set + 1) % TEAM_SETS}`]]
  })
  return {
    store: { dataDir, databaseUrl: null },
    org,
    fromMs: nowMs - MONTH_MS,
    toMs: nowMs,
    nowMs,
    revision: 1,
    resolve_unlisted_names: false,
    policies: all.map(encodePolicy),
    before: before.map((policy) => all.indexOf(policy)),
    after: after.map((policy) => all.indexOf(policy)),
    members: new Map(members),
    defaults: { organization: null, teams: new Map() },
    groups: 100,
    names: true,
    upload: { upload: 'full', sample_percent: null, complete_since: null },
  }
}

function policyOf(zone: number, isOpen: boolean): Policy {
  const isOfTeam = zone % 2 === 1
  const rules = Array.from({ length: 20 }, (_, index): Rule => {
    const id = `rule_${zone}_${index}`
    const resources = [`*.zone-${zone}.example:443`, `host-${index * 100 + zone}.other.example`]
    return { id, name: id, actions: ['connect:tcp'], decision: 'allow', resources }
  })
  return {
    id: `pol_${zone}`,
    name: `zone ${zone}`,
    scope: isOfTeam ? { teams: [`team-${zone % TEAM_SETS}`] } : {},
    allowlist_v0: { rules: isOpen ? rules : rules.slice(0, 10).map(withoutZone) },
  }
}

function withoutZone(rule: Rule): Rule {
  return { ...rule, resources: rule.resources.slice(1) }
}
