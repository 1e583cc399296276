import { lint, type Finding } from '@palisade/policy-analysis'
import {
  compilePolicy,
  decide,
  effectivePolicies,
  type Action,
  type Policy,
  type PolicySet,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findPath } from '../../../packages/policy-core/src/language/find-path.ts'
import { coversNetwork } from '../../../packages/policy-analysis/src/pattern/network-language.ts'
import { readLintSet, type Entry } from '../../../packages/policy-analysis/src/lint/lint-rule.ts'
import { policySets, type CompiledFrom } from '../../policy-core/arbitraries/policy-set.ts'
import { requestChoices, requestFrom } from '../../policy-core/arbitraries/request.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../policy-core/every-case.ts'
import { policy, rule } from '../../policy-core/policies.ts'

const REQUESTS = 30
/** A port that no generated rule uses. */
const UNUSUAL_PORT = 49_151

/**
 * The resources with findings for which `isMeant`. A finding about a rule counts for all its
 * resources.
 */
function resourcesOf(
  { set, options }: CompiledFrom,
  isMeant: (finding: Finding) => boolean,
): ReadonlySet<string> {
  const { rules } = readLintSet(set, options)
  const entries = rules.flatMap((rule) => rule.entries)
  const faults = lint(set, options)
    .filter(isMeant)
    .map(({ rules: [fault] }) => fault)
  return new Set(
    entries
      .filter((entry) =>
        faults.some(
          (fault) =>
            fault !== undefined &&
            nameOf(entry, fault.resource) ===
              nameOf({ rule: { identity: fault } }, fault.resource) &&
            (fault.resource === undefined || fault.resource === entry.text),
        ),
      )
      .map((entry) => nameOf(entry, entry.text)),
  )
}

function nameOf({ rule }: { rule: Pick<Entry['rule'], 'identity'> }, text = ''): string {
  const { origin, policy_id, rule_id } = rule.identity
  return `${origin} ${policy_id} ${rule_id} ${text}`
}

function isWhollyShadowed({ code, message }: Finding): boolean {
  return code === 'shadowed' && !message.includes('has no effect for')
}

describe('lint', () => {
  it('a shadowed resource never allows anything', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 900, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([from, choices], tally) => {
        const shadowed = resourcesOf(from, isWhollyShadowed)
        const compiled = compilePolicy(from.set, from.options)

        for (const choice of choices) {
          const { decision, rules } = decide(compiled, requestFrom(from.set, choice))
          const deciding = rules.map(
            ({ origin, policy_id, rule_id, resource }) =>
              `${origin} ${policy_id} ${rule_id} ${resource}`,
          )
          expect(decision === 'allow' ? deciding.filter((name) => shadowed.has(name)) : []).toEqual(
            [],
          )
          tally(shadowed.size === 0 ? 'nothing shadowed' : `${decision} beside shadowed`)
        }
      },
    )

    expect(
      outcomes.rarerThan({ 'allow beside shadowed': 0.01, 'deny beside shadowed': 0.03 }),
    ).toEqual([])
  })

  it('removing redundant resources changes no decision', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase(
      { runs: 1300, casesPerRun: REQUESTS },
      fc.tuple(policySets(), requestChoices(REQUESTS)),
      ([from, choices], tally) => {
        const pointless = resourcesOf(
          from,
          (finding) =>
            isWhollyShadowed(finding) ||
            ['redundant', 'duplicate_resource', 'matches_nothing'].includes(finding.code),
        )
        const without = compilePolicy(withoutResources(from, pointless), from.options)
        const compiled = compilePolicy(from.set, from.options)

        for (const choice of choices) {
          const request = requestFrom(from.set, choice)
          const { decision } = decide(compiled, request)

          expect(decide(without, request).decision).toBe(decision)
          tally(pointless.size === 0 ? 'nothing pointless' : decision)
        }
      },
    )

    expect(outcomes.rarerThan({ allow: 0.05, deny: 0.05 })).toEqual([])
  })

  it(
    'every pair in which one pattern covers the other is reported',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase({ runs: 2000 }, policySets(), (from, tally) => {
        const shadowed = resourcesOf(from, ({ code }) => code === 'shadowed')
        const pointless = resourcesOf(from, ({ code }) =>
          ['shadowed', 'redundant', 'duplicate_resource'].includes(code),
        )
        const entries = readLintSet(from.set, from.options).rules.flatMap((rule) => rule.entries)

        for (const entry of entries)
          for (const other of entries) {
            if (other === entry || !mayCause(other, entry)) continue
            const isShadow = entry.rule.decision === 'allow' && other.rule.decision === 'deny'
            const isDouble =
              other.rule.decision === entry.rule.decision &&
              other.rank < entry.rank &&
              sharesAll(entry, other) &&
              entry.pattern.kind !== 'range'
            if (!isShadow && !isDouble) continue
            const name = nameOf(entry, entry.text)
            // A rule shadowed for one of its two actions is not reported when the resource is
            // redundant anyway.
            expect([...(isShadow && sharesAll(entry, other) ? shadowed : pointless)]).toContain(
              name,
            )
            tally(isShadow ? 'shadow' : 'double')
          }
        tally('sets')
      })

      expect(outcomes.rarerThan({ shadow: 0.1, double: 0.1 })).toEqual([])
    },
  )

  it('names reported as left open by a deny are allowed', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 6000 }, policySets(), (from, tally) => {
      const whole = compilePolicy(from.set, from.options)
      // A user's own deny does not close an opening in the organization's policies.
      const orgOnly = compilePolicy({ ...from.set, local: [] }, from.options)
      const entries = readLintSet(from.set, from.options).rules.flatMap((rule) => rule.entries)
      for (const { code, rules } of lint(from.set, from.options)) {
        if (!LEFT_OPEN.has(code)) continue
        const [deny, opener] = rules.map((rule) =>
          entries.find(
            (entry) =>
              nameOf(entry, entry.text) === nameOf({ rule: { identity: rule } }, rule.resource),
          ),
        )
        if (deny?.pattern.kind !== 'name' || opener?.pattern.kind !== 'name') continue
        const compiled = deny.rule.identity.origin === 'org' ? orgOnly : whole
        const port = deny.pattern.port ?? opener.pattern.port
        // Without a port, tries two: another deny may apply to the usual one.
        const ports = port === null ? [443, UNUSUAL_PORT] : [port]
        const host = hostLeftOpen(code, deny.pattern)
        const outcome = opener.rule.actions.flatMap((action) =>
          ports.map((on) => decide(compiled, { action, host, port: on }).decision),
        )
        expect(outcome, JSON.stringify(from.set)).toContain('allow')
        tally(deny.pattern.port === opener.pattern.port ? code : 'of another port')
      }
      tally('sets')
    })

    expect(outcomes.rarerThan({ 'of another port': 0.001 })).toEqual([])
  })

  it('addresses reported as left open by a deny are allowed', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 4000 }, rangeSets(), (set, tally) => {
      const compiled = compilePolicy(set)
      for (const { code, rules, message } of lint(set)) {
        if (code !== 'deny_one_action') continue
        const [denied = '', opener = ''] = rules.map(({ resource }) => resource)
        const port = Number(/:(\d+)$/.exec(`${denied} ${opener}`)?.[1] ?? 443)
        const asked = ADDRESSES.filter((address) => isIn(address, denied))

        const outcome = asked.map(
          (host) => decide(compiled, { action: 'connect:udp', host, port }).decision,
        )

        expect(outcome, `${message}; ${JSON.stringify(set)}`).toContain('allow')
        tally('left open')
      }
      tally('sets')
    })

    expect(outcomes.rarerThan({ 'left open': 0.005 })).toEqual([])
  })

  it(
    'a path reported as writable but not readable is so for some team',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase({ runs: 3000 }, teamSets(), (policies, tally) => {
        const audiences = [[], ...TEAMS.map((team) => [team])].map((teams) =>
          compilePolicy({ policies: effectivePolicies(policies, teams) }),
        )
        for (const { code, rules, message } of lint({ policies })) {
          if (code !== 'write_without_read') continue
          const path = /such as `(.+)` in it/.exec(message)?.[1] ?? rules[0]?.resource ?? ''

          const claims = audiences.map(
            (compiled) =>
              decide(compiled, { action: 'write', path }).decision === 'allow' &&
              decide(compiled, { action: 'read', path }).decision === 'deny',
          )

          expect(claims, JSON.stringify(policies)).toContain(true)
          tally('written without read')
        }
        tally('sets')
      })

      expect(outcomes.rarerThan({ 'written without read': 0.05 })).toEqual([])
    },
  )

  it(
    'adding the suggested apex domain beside a wildcard allows it',
    {
      timeout: LAW_TIMEOUT_MS,
    },
    () => {
      const outcomes = everyCase({ runs: 3000 }, policySets(), (from, tally) => {
        for (const { code, mend } of lint(from.set, from.options)) {
          if (code !== 'apex_not_covered') continue
          const resource = /add `(.+)` if/.exec(mend)?.[1] ?? ''
          const [host = '', port = '443'] = resource.split(':')
          const added = compilePolicy({
            policies: [policy('added', rule('r', 'allow', ['connect:tcp'], resource))],
          })

          const request = { action: 'connect:tcp', host, port: Number(port) }

          expect(decide(added, request).decision, resource).toBe('allow')
          tally('added')
        }
        tally('sets')
      })

      expect(outcomes.rarerThan({ added: 0.02 })).toEqual([])
    },
  )

  it('a path reported as writable but not readable is so', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 6000 }, policySets(), (from, tally) => {
      const whole = compilePolicy(from.set, from.options)
      const orgOnly = compilePolicy({ ...from.set, local: [] }, from.options)
      for (const { code, rules, message } of lint(from.set, from.options)) {
        const [fault] = rules
        if (code !== 'write_without_read' || fault === undefined) continue
        const path = /such as `(.+)` in it/.exec(message)?.[1] ?? fault.resource ?? ''
        if (!path.startsWith('/')) continue
        const compiled = fault.origin === 'org' ? orgOnly : whole
        expect(decide(compiled, { action: 'write', path }).decision).toBe('allow')
        expect(decide(compiled, { action: 'read', path }).decision).toBe('deny')
        tally(path === fault.resource ? 'the resource itself' : 'a path in it')
      }
      tally('sets')
    })

    expect(outcomes.rarerThan({ 'the resource itself': 0.001, 'a path in it': 0.005 })).toEqual([])
  })

  it(
    'the order of rules and policies does not affect the findings',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase({ runs: 1000 }, policySets(), ({ set, options }, tally) => {
        const findings = lint(set, options)

        expect(lint(reversed(set), options)).toEqual(findings)
        tally(findings.length === 0 ? 'none' : 'some')
      })

      expect(outcomes.rarerThan({ some: 0.3 })).toEqual([])
    },
  )
})

/** Protected, embedding and ordinary addresses, and ranges that contain them. */
const RANGES = [
  '0.0.0.0/0',
  '169.254.0.0/16',
  '169.254.169.254',
  '168.0.0.0/7',
  '224.0.0.0/3',
  '192.0.2.0/24',
  '192.0.2.7',
  '::/0',
  '64:ff9b::/96',
  '64:ff9b::c000:207',
  'fe80::/10',
  '2001:db8::7',
]
const ADDRESSES = [
  '169.254.169.254',
  '169.254.0.1',
  '168.0.0.1',
  '169.255.0.0',
  '224.0.0.1',
  '255.0.0.1',
  '1.0.0.0',
  '192.0.2.0',
  '192.0.2.7',
  '64:ff9b::c000:207',
  '64:ff9b::c000:200',
  '64:ff9b::808:808',
  'fe80::1',
  '2001:db8::7',
]

function isIn(address: string, resource: string): boolean {
  const range = resource.replace(/^\[(.+)\]:\d+$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  const set = { policies: [policy('p', rule('r', 'deny', ['connect:udp'], range))] }
  const { rules } = decide(compilePolicy(set), {
    action: 'connect:udp',
    host: address,
    port: 443,
  })
  return rules.length > 0
}

function rangeSets(): fc.Arbitrary<PolicySet> {
  const actions = fc.constantFrom<Action[]>(
    ['connect:tcp'],
    ['connect:udp'],
    ['connect:tcp', 'connect:udp'],
  )
  const rules = fc.array(
    fc.tuple(fc.constantFrom('allow', 'deny'), actions, fc.constantFrom(...RANGES)),
    { minLength: 2, maxLength: 6 },
  )
  return rules.map((each) => ({
    policies: [
      policy('p', ...each.map(([decision, on, range], n) => rule(`r${n}`, decision, on, range))),
    ],
  }))
}

const TEAMS = [
  'd2901f6e-6b1c-4b53-a9f5-35ee0f1f7f11',
  'd2901f6e-6b1c-4b53-a9f5-35ee0f1f7f12',
] as const

function teamSets(): fc.Arbitrary<Policy[]> {
  const scope = fc.constantFrom({}, ...TEAMS.map((team) => ({ teams: [team] })), {
    teams: [...TEAMS],
  })
  const actions = fc.constantFrom<Action[]>(['read'], ['write'], ['read', 'write'])
  const path = fc.constantFrom('/a', '/a/**', '/a/*', '/a/b', '/**/b')
  const one = fc.tuple(scope, fc.constantFrom('allow', 'deny'), actions, path)
  return fc.array(one, { minLength: 2, maxLength: 6 }).map((all) =>
    all.map(([teams, decision, on, resource], n) => ({
      ...policy(`p${n}`, rule(`r${n}`, decision, on, resource)),
      scope: teams,
    })),
  )
}

const LEFT_OPEN: ReadonlySet<string> = new Set([
  'deny_without_apex',
  'deny_one_level',
  'deny_one_action',
])

/** A name that the finding applies to, below labels that no generated rule uses. */
function hostLeftOpen(code: string, { depth, domain }: { depth: string; domain: string }): string {
  if (code === 'deny_without_apex') return domain
  if (code === 'deny_one_level') return `left.open.${domain}`
  return depth === 'exact' ? domain : `open.${domain}`
}

/** The condition without an index: both active, a shared action, and covering. */
function mayCause(other: Entry, entry: Entry): boolean {
  if (!other.rule.active || !entry.rule.active) return false
  if (entry.rule.identity.origin === 'org' && other.rule.identity.origin === 'local') return false
  if (!entry.rule.actions.some((action) => other.rule.actions.includes(action))) return false
  const [outer, inner] = [other.pattern, entry.pattern]
  if (outer.kind !== 'path' || inner.kind !== 'path')
    return outer.kind !== 'path' && inner.kind !== 'path' && coversNetwork(outer, inner)
  return (
    outer.fromHome === inner.fromHome &&
    findPath({ inAll: [inner.segments], inNone: [outer.segments] }).kind === 'none'
  )
}

function sharesAll(entry: Entry, other: Entry): boolean {
  return entry.rule.actions.every((action: Action) => other.rule.actions.includes(action))
}

/** Removes the named resources, and rules without remaining resources. */
function withoutResources({ set }: CompiledFrom, names: ReadonlySet<string>): PolicySet {
  const strip = (origin: 'org' | 'local') => (policy: Policy) => ({
    ...policy,
    allowlist_v0: {
      rules: (policy.allowlist_v0?.rules ?? []).flatMap((rule) => {
        const seen = new Set<string>()
        const resources = rule.resources.filter((text) => {
          // Keeps one copy of a duplicate resource.
          const isFirst =
            !seen.has(text) && rule.resources.indexOf(text) !== rule.resources.lastIndexOf(text)
          seen.add(text)
          return isFirst || !names.has(`${origin} ${policy.id} ${rule.id} ${text}`)
        })
        return resources.length === 0 ? [] : [{ ...rule, resources }]
      }),
    },
  })
  return {
    ...set,
    policies: set.policies?.map(strip('org')),
    local: set.local?.map(strip('local')),
    governed: set.governed ?? set.policies !== undefined,
  }
}

function reversed(set: PolicySet): PolicySet {
  const reverse = (policy: Policy) => ({
    ...policy,
    allowlist_v0: { rules: (policy.allowlist_v0?.rules ?? []).toReversed() },
  })
  return {
    ...set,
    policies: set.policies?.map(reverse).toReversed(),
    local: set.local?.map(reverse).toReversed(),
  }
}
