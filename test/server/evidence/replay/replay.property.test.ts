import { effectivePolicies, type Policy } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type {
  ObservedRequest,
  Sighting,
} from '../../../../server/src/evidence/observed/read-observed.ts'
import { createSightingTable } from '../../../../server/src/evidence/observed/sighting-table.ts'
import type { ReplayedDecision } from '../../../../server/src/evidence/replay/change-groups.ts'
import type { ReplaySide } from '../../../../server/src/evidence/replay/replay-side.ts'
import {
  createReplay,
  type ReplayInput,
  type ReplayResult,
} from '../../../../server/src/evidence/replay/replay.ts'
import { conditionalSets } from '../../../policy-core/arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from '../../../policy-core/arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../../policy-core/every-case.ts'
import {
  referenceDecide,
  type ReferenceDecision,
} from '../../../policy-core/reference/reference-decide.ts'
import { readPolicySet, type ReferenceSet } from '../../../policy-core/reference/reference-rules.ts'
import { tuple } from '../store/evidence-batches.ts'

/** Compiling takes longer than deciding so many. */
const REQUESTS = 100
const TEAMS = ['t1', 't2', 't3']
/** Teams of members; `gone` is no member, and null stands for a device without a user. */
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  ann: [],
  bob: ['t1'],
  cat: ['T1', 't2'],
  dan: ['t3'],
  eve: ['t1', 't2', 't3'],
  fay: ['t2'],
  gus: ['t2', 't1'],
}
const USERS = [...Object.keys(MEMBERS), 'gone', null, 'ann']

interface Case extends Pick<ReplayInput, 'before' | 'after' | 'now'> {
  readonly records: readonly ObservedRequest[]
}

/** Two states of an organization that share some policies, and recorded requests. */
function cases(): fc.Arbitrary<Case> {
  const scope = fc.oneof(
    fc.constant({}),
    fc.subarray(TEAMS).map((teams) => ({ teams })),
  )
  return fc
    .record({
      one: conditionalSets(),
      other: conditionalSets(),
      scopes: fc.array(scope, { minLength: 6, maxLength: 6 }),
      keeps: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
      choices: requestChoices(REQUESTS),
    })
    .map(({ one, other, scopes, keeps, choices }) => {
      const before = (one.set.policies ?? []).map((policy, index) => ({
        ...policy,
        scope: scopes[index],
      }))
      const added = (other.set.policies ?? []).map((policy, index) => ({
        ...policy,
        id: `new_${policy.id}`,
        scope: scopes[index + 3],
      }))
      const side = (set: typeof one.set, policies: readonly Policy[]): ReplaySide => ({
        policies,
        resolve_unlisted_names: set.resolve_unlisted_names ?? false,
        default: set.default,
      })
      const all = { policies: [...before, ...added] }
      return {
        before: side(one.set, before),
        after: side(other.set, [...before.filter((_, index) => keeps[index]), ...added]),
        now: one.now,
        records: choices.map((choice, place) => record(requestFrom(all, choice), place)),
      }
    })
}

/** As the server stores it: members of a wrong type are not in an upload. */
function record(request: unknown, place: number): ObservedRequest {
  const members = readMembers(request)
  const text = (name: string): string | null => {
    const value = members[name]
    return typeof value === 'string' ? value : null
  }
  const path = text('path')
  const sightings = USERS.map((username, index): Sighting => ({
    device_id: `dev_${index}`,
    username,
    decisions: 1 + place * index,
    first_ms: place,
    last_ms: place + index,
  }))
  const decision = place % 2 === 0 ? 'allow' : 'deny'
  const port = typeof members['port'] === 'number' ? members['port'] : null
  const target = { host: text('host'), port, address: text('address'), path }
  const path_cut = path !== null && place % 7 === 0
  return { sightings, tuple: tuple({ action: text('action'), ...target, path_cut, decision }) }
}

/** Some hostile requests throw when they are read. */
function readMembers(request: unknown): Readonly<Record<string, unknown>> {
  try {
    const { action, host, port, address, path } = Object(request) as Record<string, unknown>
    return { action, host, port, address, path }
  } catch {
    return {}
  }
}

function replay({ records, ...sides }: Case): ReplayResult {
  const teamsOf = (username: string) => MEMBERS[username] ?? null
  const shown = { most: Infinity, leastDevices: 1 }
  const subjects = USERS.map((username, index) => ({ device_id: `dev_${index}`, username }))
  const table = createSightingTable(records.length * USERS.length)
  for (const [id, { sightings }] of records.entries())
    for (const [subject, sighting] of sightings.entries())
      table.insert(subject, { ...sighting, source: subject, tuple: id })
  const made = createReplay({ ...sides, revision: 7, teamsOf, shown }, { subjects, table })
  const tuples = new Map(records.map(({ tuple: recorded }, id) => [id, recorded]))
  for (const part of made.parts()) made.decide(part, tuples)
  return made.result()
}

describe('a replay', () => {
  it('≡ deciding every record anew with the reference', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 300, casesPerRun: REQUESTS * USERS.length },
      cases(),
      (one, tally) => {
        const expected: Counts = {}
        const decide = createReference(one)
        for (const { tuple: recorded, sightings } of one.records)
          for (const { username, decisions } of sightings)
            for (const outcome of decide(recorded, username)) {
              expected[outcome] = (expected[outcome] ?? 0) + decisions
              tally(outcome.split(' ')[0] ?? '')
            }

        expect(countsOf(replay(one))).toEqual(expected)
      },
    )

    expect(
      outcomes.rarerThan({
        newly_denied: 0.05,
        newly_allowed: 0.05,
        unchanged: 0.2,
        drift: 0.1,
        home_unknown: 0.01,
        path_cut: 0.01,
        invalid_request: 0.01,
        not_a_member: 0.02,
        without_address: 0.02,
      }),
    ).toEqual([])
  })

  it('of the policies in force changes nothing', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 60, casesPerRun: REQUESTS * USERS.length },
      cases(),
      (one, tally) => {
        // A copy, which shares no object with the policies in force.
        const result = replay({ ...one, after: structuredClone(one.before) })

        const none = { decisions: 0, groups: 0, shown: [] }
        expect(result.newlyDenied).toEqual(none)
        expect(result.newlyAllowed).toEqual(none)
        tally(result.unchanged.decisions > 0 ? 'judged' : 'not judged')
      },
    )

    expect(outcomes.rarerThan({ judged: 0.5 })).toEqual([])
  })
})

/** Decisions by outcome. */
type Counts = Record<string, number>

function countsOf(result: ReplayResult): Counts {
  const { newlyDenied, newlyAllowed, unchanged, drift, notJudged, withoutAddress } = result
  const entries = [
    ...newlyDenied.shown.map((group) => [`newly_denied ${keyOf(group)}`, group] as const),
    ...newlyAllowed.shown.map((group) => [`newly_allowed ${keyOf(group)}`, group] as const),
    ['unchanged', unchanged] as const,
    ['without_address', withoutAddress] as const,
    ...[...drift.values()].map((count) => ['drift', count] as const),
    ...notJudged,
  ]
  return Object.fromEntries(
    entries
      .filter(([, { decisions }]) => decisions > 0)
      .map(([key, each]) => [key, each.decisions]),
  )
}

function keyOf({
  action,
  target,
  before,
  after,
}: ReplayResult['newlyDenied']['shown'][number]): string {
  return JSON.stringify([action, target, formatDecision(before), formatDecision(after)])
}

function formatDecision({ decision, reason, rules }: ReplayedDecision): string {
  const ids = rules.map(({ policy_id, rule_id, resource }) => `${policy_id} ${rule_id} ${resource}`)
  return [decision, reason, ...ids].join()
}

/** Answers the outcomes of one record, each side decided by itself. */
function createReference({ before, after, now }: Case) {
  const sets = new Map<string, ReferenceSet>()
  const setOf = (key: string, create: () => Parameters<typeof readPolicySet>[0]) => {
    const set = sets.get(key) ?? readPolicySet(create())
    sets.set(key, set)
    return set
  }

  /** Whether any directory as `~` makes a rule match. */
  function mayDependOnHome(teams: readonly string[], request: { action: string; path: string }) {
    const policies = [before, after]
      .flatMap((side) => effectivePolicies(side.policies, teams).map(onlyHome))
      .filter(({ allowlist_v0 }) => allowlist_v0?.rules.length !== 0)
      .map((policy, index) => ({ ...policy, id: `${index}` }))
    if (policies.length === 0) return false
    const set = setOf(`home ${teams.join()}`, () => ({ policies }))
    return directoriesAround(request.path).some(
      (home) => referenceDecide({ ...set, home }, request, now).decision === 'allow',
    )
  }

  function outcomesOf(recorded: ObservedRequest['tuple'], teams: readonly string[]): string[] {
    const { action, host, port, address, path, path_cut } = recorded
    const isPath = action === 'read' || action === 'write'
    if (isPath && (path_cut || path === null)) return ['path_cut']
    const decide = (side: ReplaySide, name: string): ReferenceDecision => {
      const policies = effectivePolicies(side.policies, teams)
      const set = setOf(`${name} ${teams.join()}`, () => ({ ...side, policies }))
      const connect = { action, host, port, ...(address === null ? {} : { address }) }
      return referenceDecide(set, isPath ? { action, path } : connect, now)
    }
    const [one, other] = [decide(before, 'before'), decide(after, 'after')]
    const { request } = one
    if (request === null) return ['invalid_request']
    if ('path' in request && mayDependOnHome(teams, request)) return ['home_unknown']
    return [
      changeBetween(one, other),
      ...(one.decision === recorded.decision ? [] : ['drift']),
      ...(one.address_required === true || other.address_required === true
        ? ['without_address']
        : []),
    ]
  }

  /** The same for all users to whom the same policies apply. */
  const known = new Map<string, string[]>()
  return (recorded: ObservedRequest['tuple'], username: string | null): string[] => {
    const teams = username === null ? [] : MEMBERS[username]
    if (teams === undefined) return ['not_a_member']
    const effective = [before, after].map(({ policies }) =>
      effectivePolicies(policies, teams).map(({ id }) => id),
    )
    const key = JSON.stringify([recorded, effective])
    const outcomes = known.get(key) ?? outcomesOf(recorded, teams)
    known.set(key, outcomes)
    return outcomes
  }
}

function changeBetween(one: ReferenceDecision, other: ReferenceDecision): string {
  if (one.decision === other.decision) return 'unchanged'
  const { request } = one
  if (request === null) throw new TypeError('an invalid request is decided alike')
  const target = 'path' in request ? request.path : `${request.host}:${request.port}`
  const change = other.decision === 'deny' ? 'newly_denied' : 'newly_allowed'
  const decisions = [formatDecision(one), formatDecision(other)]
  return `${change} ${JSON.stringify([request.action, target, ...decisions])}`
}

/** The rules with `~` alone, as rules that allow. */
function onlyHome({ allowlist_v0, ...policy }: Policy): Policy {
  const rules = (allowlist_v0?.rules ?? []).flatMap(({ resources, ...rule }) => {
    const homes = resources.filter((resource) => resource.startsWith('~'))
    return homes.length === 0 ? [] : [{ ...rule, decision: 'allow' as const, resources: homes }]
  })
  return { ...policy, allowlist_v0: { rules } }
}

/** The segments of each directory that the path is in, and of the path. */
function directoriesAround(path: string): (readonly string[])[] {
  const segments = path.split('/').filter((segment) => segment !== '')
  return [[], ...segments.map((_, index) => segments.slice(0, index + 1))]
}
