import { compilePolicy, decide, effectivePolicies, type Policy } from '@palisade/policy-core'
import type { PolicyChange, ShownPolicy } from '@palisade/protocol'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { comparePlan } from '../../../packages/cli/src/policy-source/compare-audiences.ts'
import { casesOfRun } from '../../lanes/run-size.ts'

const HOME = '/home/user'
const [EXPIRED, LATER] = ['2026-11-21T08:00:00.000Z', '2026-11-21T08:00:00.001Z'] as const
const NOW = Date.parse('2026-11-21T08:00:00Z')
const TEAMS = ['red', 'Red', 'blue'] as const
const HOSTS = ['a.example', 'b.a.example', 'c.b.a.example', '10.1.2.3', 'other.example'] as const
const REQUESTS = HOSTS.flatMap((host) =>
  [80, 443].map((port) => ({ action: 'connect:tcp' as const, host, port })),
)

function organizations(): fc.Arbitrary<ShownPolicy[]> {
  const rule = fc.record(
    {
      decision: fc.constantFrom('allow' as const, 'allow' as const, 'deny' as const),
      resources: fc.array(
        fc.constantFrom(
          'a.example',
          '*.a.example:443',
          '**.a.example',
          '10.0.0.0/8',
          'b.a.example:80',
        ),
        { minLength: 1, maxLength: 2 },
      ),
      expires_at: fc.constantFrom(EXPIRED, LATER, LATER, LATER),
    },
    { requiredKeys: ['decision', 'resources'] },
  )
  const policy = fc.record(
    {
      scope: fc
        .subarray([...TEAMS], { maxLength: 2 })
        .map((teams): ShownPolicy['scope'] => (teams.length === 0 ? {} : { teams })),
      rules: fc.array(rule, { maxLength: 2 }).map((rules) =>
        rules.map((body, index) => ({
          name: `rule ${index}`,
          actions: ['connect:tcp' as const],
          ...body,
        })),
      ),
      mode: fc.constantFrom<'shadow' | 'enforce'>('shadow', 'enforce', 'enforce', 'enforce'),
    },
    { requiredKeys: ['scope', 'rules'] },
  )
  return fc
    .array(policy, { maxLength: 4 })
    .map((policies) => policies.map((body, index) => ({ name: `policy ${index}`, ...body })))
}

/** The answer of the server. */
function changesBetween(before: readonly ShownPolicy[], after: readonly ShownPolicy[]) {
  const names = new Set([...before, ...after].map(({ name }) => name))
  return [...names].flatMap((name): PolicyChange[] => {
    const old = before.find((policy) => policy.name === name)
    const policy = after.find((other) => other.name === name)
    if (JSON.stringify(old) === JSON.stringify(policy)) return []
    if (old === undefined) return [{ change: 'created', name, new: policy }]
    if (policy === undefined) return [{ change: 'deleted', name, old }]
    return [{ change: 'updated', name, old, new: policy }]
  })
}

/**
 * Compiles the policies of a machine whose user is in `teams`. Teams get numbers, because ids are
 * compared without case.
 */
function compiled(policies: readonly ShownPolicy[], teams: readonly string[]) {
  const idOf = (team: string) => `team-${[...TEAMS].findIndex((name) => name === team)}`
  const all = policies.map(({ name, scope, mode, rules }): Policy => ({
    id: name,
    name,
    scope: { teams: (scope.teams ?? []).map(idOf) },
    mode,
    allowlist_v0: { rules: rules.map((rule) => ({ id: rule.name, ...rule })) },
  }))
  return compilePolicy({ policies: effectivePolicies(all, teams.map(idOf)), home: HOME })
}

it('comparison for each audience ≡ decisions of the evaluator', () => {
  const tally = { opened: 0, closed: 0, same: 0 }
  const teamSets = fc.array(fc.subarray([...TEAMS]), { maxLength: 3 })
  fc.assert(
    fc.property(organizations(), organizations(), teamSets, (before, after, sets) => {
      const changes = changesBetween(before, after)
      const { audiences, omitted } = comparePlan({ policies: before, team_sets: sets }, changes, {
        home: HOME,
        now: NOW,
      })
      expect(omitted).toBe(0)
      const untold: unknown[] = []

      for (const teams of [[], ...TEAMS.map((team) => [team]), ...sets]) {
        const used = new Set([...before, ...after].flatMap(({ scope }) => scope.teams ?? []))
        const key = teams
          .filter((team) => used.has(team))
          .toSorted()
          .join()
        const told = audiences.find((audience) => audience.teams.join() === key)
        const [older, newer] = [compiled(before, teams), compiled(after, teams)]
        for (const request of REQUESTS) {
          const was = decide(older, request, { now: NOW }).decision
          const is = decide(newer, request, { now: NOW }).decision
          if (was === is) tally.same += 1
          else if (is === 'allow') tally.opened += 1
          else tally.closed += 1
          const list = is === 'allow' ? told?.reachable : told?.blocked
          if (was !== is && (list ?? []).length === 0) untold.push({ teams, request })
        }
        for (const { example } of told?.reachable ?? [])
          expect([
            decide(older, example, { now: NOW }).decision,
            decide(newer, example, { now: NOW }).decision,
          ]).toEqual(['deny', 'allow'])
        for (const { example } of told?.blocked ?? [])
          expect([
            decide(older, example, { now: NOW }).decision,
            decide(newer, example, { now: NOW }).decision,
          ]).toEqual(['allow', 'deny'])
      }
      expect(untold).toEqual([])
    }),
    { numRuns: casesOfRun(150) },
  )
  // A law that was tested with trivial cases only would prove little.
  expect(Math.min(tally.opened, tally.closed, tally.same)).toBeGreaterThan(casesOfRun(20))
})
