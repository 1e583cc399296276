import { compare, isNoWider } from '@palisade/policy-analysis'
import {
  compilePolicy,
  decide,
  effectivePolicies,
  type CompiledPolicy,
  type Policy,
  type Rule,
} from '@palisade/policy-core'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { documentPolicies } from '../../../../server/src/evidence/suggest/find-openings.ts'
import type {
  RecordedRequest,
  SuggestOrganization,
} from '../../../../server/src/evidence/suggest/suggest-input.ts'
import { suggest, type Suggestions } from '../../../../server/src/evidence/suggest/suggest.ts'
import { everyCase, LAW_TIMEOUT_MS } from '../../../policy-core/every-case.ts'
import { NOW_MS, optionsOf } from './recorded.ts'

const TEAMS = ['one', 'two', 'three'].map((name, index) => ({
  id: `00000000-0000-4000-8000-00000000000${index}`,
  name,
}))
const USERS = ['ann', 'ben', 'cas', 'dan', 'eve'] as const

const NAMES = [
  'a.example.com',
  'b.example.com',
  'c.example.com',
  'x.a.example.com',
  'example.com',
  'examp1e.com',
  'example.co.uk',
  'someone.github.io',
  'other.github.io',
  'a.someone.github.io',
  'b.someone.github.io',
  's3.eu-west-1.amazonaws.com',
  'ec2.amazonaws.com',
  'sqs.amazonaws.com',
  'build.corp',
  'intranet',
] as const
const CLOSED_HOSTS = ['github.io', 'co.uk', 'com', 's3.amazonaws.com', 'localhost'] as const
const ADDRESSES = ['203.0.113.7', '203.0.113.8', '10.1.2.3', '2001:db8::7'] as const
const PROTECTED = ['127.0.0.1', '169.254.169.254', '::1', '0.0.0.0', 'fe80::1'] as const
const PATHS = [
  '/srv/data/app/a',
  '/srv/data/app/b',
  '/srv/data/app/sub/c',
  '/srv/data/other',
  '/home/ann/work/app/a',
  '/home/ann/work/app/b',
  '/home/ann/work/c',
  '/opt/tool/lib/a',
  '/opt/tool/lib/b',
] as const
const CLOSED_PATHS = [
  '/',
  '/srv',
  '/home',
  '/home/ann',
  '/root',
  '/Users',
  '/home/ann/.ssh',
  '/home/ann/.ssh/id_ed25519',
  '/home/ann/.aws/credentials',
  '/home/ann/.gnupg/a',
  '/etc/shadow',
  '/proc/1/environ',
] as const

/** No evidence has these, and no suggestion may open them: neighbours, suffixes, secrets. */
const FORBIDDEN: readonly object[] = [
  CLOSED_HOSTS,
  PROTECTED,
  ['stranger.github.io', 'stranger.s3.amazonaws.com', 'stranger.co.uk', 'stranger.com'],
  ['203.0.113.9', '10.1.2.4', 'stranger.corp', 'rds.amazonaws.com', 'x.s3.eu-west-1.amazonaws.com'],
]
  .flat()
  .flatMap((host) => [80, 443, 22].map((port) => ({ action: 'connect:tcp', host, port })))
const FORBIDDEN_PATHS: readonly object[] = [
  CLOSED_PATHS,
  ['/srv/data/neighbour', '/home/ben/work/app/a', '/opt/tool/bin/a', '/home/ann/work/neighbour'],
  ['/home/ann/.config/x', '/etc/passwd', '/srv/data'],
]
  .flat()
  .flatMap((path) => ['read', 'write'].map((action) => ({ action, path })))

describe('suggestions, for any policies and evidence', () => {
  it(
    'applied, allow all evidence that is not listed as uncovered',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase({ runs: 2_000 }, worlds(), (world, tally) => {
        const { answer, after } = suggestIn(world)

        for (const { tuple, sightings } of world.requests)
          for (const { username } of sightings) {
            if (tuple.reason !== 'default_deny') continue
            const now = decide(after.get(username)!, requestOf(tuple)).decision
            const isListed = answer.not_covered.some(
              (each) =>
                each.action === tuple.action &&
                each.target === targetOf(tuple) &&
                (username === null
                  ? each.evidence.users < each.evidence.devices
                  : each.evidence.usernames.includes(username)),
            )
            tally(`${now}${isListed ? ', listed' : ''}`)
            expect(now === 'allow' || isListed).toBe(true)
          }
        // A wildcard shows the evidence of all names that it replaces.
        for (const { evidence, resource, action, replaces } of answer.suggestions)
          for (const username of evidence.usernames) {
            const asked = askedBy(world, username, action)
            const exact = replaces.length > 0 ? replaces : [resource]
            const own = exact.filter((each) => asked.has(each))
            expect(own).not.toEqual([])
            for (const each of own)
              expect(decide(after.get(username)!, exactRequest(action, each)).decision).toBe(
                'allow',
              )
          }
      })
      expect(outcomes.rarerThan({ allow: 0.05, 'deny, listed': 0.2 })).toEqual([])
    },
  )

  it('open what they say and nothing else', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 1_500 }, worlds(), (world, tally) => {
      const { answer, after, before } = suggestIn(world)

      for (const username of [null, ...USERS]) {
        const [older, newer] = [before.get(username)!, after.get(username)!]
        expect(compare(older, newer).blocked).toEqual([])
        const said = answer.opens
          .filter(
            ({ teams }) => teams.length === 0 || teams.some((team) => isIn(world, username, team)),
          )
          .flatMap(({ reachable }) => reachable)
        const claimed = compilePolicy({
          policies: [...effective(world.organization, username), ...allowing(said)],
        })
        const verdict = isNoWider(claimed, newer)
        tally(said.length > 0 ? 'opens' : 'opens nothing')
        expect(verdict, JSON.stringify(verdict)).toEqual({ answer: 'yes' })
      }
      expect(answer.opens.every(({ complete }) => complete)).toBe(true)
    })
    expect(outcomes.rarerThan({ opens: 0.1 })).toEqual([])
  })

  it(
    'never cover a suffix, a neighbour, a protected address, a home or a secret',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      const outcomes = everyCase({ runs: 2_500 }, worlds(), (world, tally) => {
        const { answer } = suggestIn(world)
        const { policies } = answer.document

        const alone = compilePolicy({ policies: documentPolicies(answer.document, (id) => id) })

        for (const request of [...FORBIDDEN, ...FORBIDDEN_PATHS])
          expect(decide(alone, request).decision, JSON.stringify(request)).toBe('deny')
        for (const { rules } of policies)
          for (const { resources } of rules)
            for (const resource of resources) {
              tally(resource.includes('*') ? 'wildcard' : 'exact')
              expect(resource).not.toMatch(/^[^/]*\/\d+$|^~|^\/\*|^\/[^/]+\/\*/)
            }
      })
      expect(outcomes.rarerThan({ wildcard: 0.005, exact: 0.3 })).toEqual([])
    },
  )

  it('never open what a deny closes', { timeout: LAW_TIMEOUT_MS }, () => {
    const outcomes = everyCase({ runs: 1_000 }, worlds(), (world, tally) => {
      const { after, before } = suggestIn(world)

      for (const { tuple, sightings } of world.requests)
        for (const { username } of sightings) {
          const request = requestOf(tuple)
          const { decision, reason } = decide(before.get(username)!, request)
          tally(reason)
          const isClosed = decision === 'deny' && reason !== 'default_deny'
          const now = decide(after.get(username)!, request)
          expect(isClosed ? now : { decision, reason }).toMatchObject({ decision, reason })
        }
    })
    expect(outcomes.rarerThan({ protected_address: 0.02, rule: 0.03 })).toEqual([])
  })

  it(
    'never name a target of one device, whatever it uploads, unless asked to',
    { timeout: LAW_TIMEOUT_MS },
    () => {
      everyCase({ runs: 1_000 }, fc.tuple(worlds(), hostileRequests()), ([world, hostile]) => {
        const requests = [...world.requests, ...hostile]

        const { answer } = suggestIn({ ...world, requests, generalize: false })

        for (const { resource } of answer.suggestions) expect(resource).not.toContain('exfil')
      })
    },
  )
})

interface World {
  readonly organization: SuggestOrganization
  readonly requests: readonly RecordedRequest[]
  readonly generalize: boolean
  readonly scope: 'team' | 'organization'
  readonly min_members: number
}

function suggestIn({ organization, requests, ...options }: World) {
  const rules = optionsOf({ ...options, min_names: 2 })
  const answer: Suggestions = suggest(requests, organization, rules, NOW_MS)
  const ids = new Map(TEAMS.map(({ id, name }) => [name, id]))
  const added = documentPolicies(answer.document, (name) => ids.get(name) ?? name)
  const changed = { ...organization, policies: [...organization.policies, ...added] }
  return { answer, before: compileFor(organization), after: compileFor(changed) }
}

/** Targets that no rule matches for the user. */
function askedBy({ requests }: World, username: string, action: string): ReadonlySet<string> {
  const own = requests.filter(
    ({ tuple, sightings }) =>
      tuple.action === action &&
      tuple.reason === 'default_deny' &&
      sightings.some((each) => each.username === username),
  )
  return new Set(own.map(({ tuple }) => targetOf(tuple)))
}

function compileFor(organization: SuggestOrganization): ReadonlyMap<string | null, CompiledPolicy> {
  return new Map(
    [null, ...USERS].map((username) => [
      username,
      compilePolicy({ policies: effective(organization, username) }),
    ]),
  )
}

function effective(
  { policies, members }: SuggestOrganization,
  username: string | null,
): readonly Policy[] {
  return effectivePolicies(policies, members.find((each) => each.username === username)?.teams)
}

function isIn({ organization }: World, username: string | null, team: string): boolean {
  const id = TEAMS.find(({ name }) => name === team)?.id ?? ''
  return organization.members.some((each) => each.username === username && each.teams.includes(id))
}

/** The regions as allow rules; `except` only makes them smaller. */
function allowing(said: readonly { action: string; resource: string }[]): readonly Policy[] {
  return said.map(({ action, resource }, index) => ({
    id: `said_${index}`,
    name: `said_${index}`,
    allowlist_v0: {
      rules: [
        {
          id: `said_rule_${index}`,
          name: `said_rule_${index}`,
          actions: [action as Rule['actions'][number]],
          decision: 'allow',
          resources: [resource],
        },
      ],
    },
  }))
}

function requestOf({ action, host, port, address, path }: RecordedRequest['tuple']): object {
  if (path !== null) return { action, path }
  return address === null ? { action, host, port } : { action, host, port, address }
}

function targetOf({ host, port, path }: RecordedRequest['tuple']): string {
  if (path !== null) return path
  return host?.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

function exactRequest(action: string, resource: string): object {
  if (resource.startsWith('/')) return { action, path: resource }
  const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(resource) ?? []
  return { action, host, port: Number(port) }
}

function worlds(): fc.Arbitrary<World> {
  return fc
    .record({
      memberships: fc.array(fc.subarray([0, 1, 2]), { minLength: 5, maxLength: 5 }),
      policies: fc.array(policy(), { maxLength: 3 }),
      asks: fc.array(asks(), { minLength: 1, maxLength: 25 }),
      generalize: fc.boolean(),
      scope: fc.constantFrom('team' as const, 'team' as const, 'organization' as const),
      min_members: fc.integer({ min: 1, max: 3 }),
    })
    .map(({ memberships, policies, asks: made, ...options }) => {
      const organization = {
        policies: policies.map((each, index) => nameParts(each, `p${index}`)),
        teams: TEAMS,
        members: USERS.map((username, index) => ({
          username,
          teams: (memberships[index] ?? []).map((team) => TEAMS[team]!.id),
        })),
      }
      return { organization, requests: recordAll(organization, made), ...options }
    })
}

type Ask = ReturnType<typeof asks> extends fc.Arbitrary<infer Made> ? Made : never

/** Records with the decision that each machine would have made. */
function recordAll(
  organization: SuggestOrganization,
  made: readonly Ask[],
): readonly RecordedRequest[] {
  const before = compileFor(organization)
  return made.flatMap(({ target, users }) =>
    users.map((user): RecordedRequest => {
      const tuple = {
        host: null,
        port: null,
        address: null,
        path: null,
        path_cut: false,
        protocol: 'connect',
        program: null,
        ...target,
      }
      const { decision, reason, rules } = decide(
        before.get(user.username)!,
        requestOf({
          ...tuple,
          decision: 'deny',
          reason: '',
          rules: [],
        }),
      )
      return {
        tuple: {
          ...tuple,
          decision,
          reason,
          rules: rules.map((rule) => ({
            policy_id: rule.policy_id,
            rule_id: rule.rule_id,
            decision: rule.decision,
            origin: rule.origin,
          })),
        },
        sightings: [
          {
            device_id: `${user.username ?? 'none'} ${user.device}`,
            username: user.username,
            decisions: 1,
            first_ms: NOW_MS - 1_000,
            last_ms: NOW_MS,
          },
        ],
      }
    }),
  )
}

function asks() {
  const user = fc.record({
    username: fc.constantFrom(...USERS, ...USERS, null),
    device: fc.integer({ min: 1, max: 2 }),
  })
  const network = fc.record({
    action: fc.constantFrom('connect:tcp', 'connect:tcp', 'connect:udp'),
    host: fc.constantFrom(...NAMES, ...NAMES, ...CLOSED_HOSTS, ...ADDRESSES, ...PROTECTED),
    port: fc.constantFrom(443, 443, 443, 22),
  })
  const resolved = fc.record({
    action: fc.constant('connect:tcp'),
    host: fc.constantFrom(...NAMES),
    port: fc.constant(443),
    address: fc.constantFrom(...ADDRESSES, '169.254.169.254'),
  })
  const path = fc.record({
    action: fc.constantFrom('read', 'read', 'write'),
    path: fc.constantFrom(...PATHS, ...PATHS, ...CLOSED_PATHS),
  })
  return fc.record({
    target: fc.oneof(network, network, resolved, path),
    users: fc.array(user, { minLength: 1, maxLength: 6 }),
  })
}

/** Whatever one machine of `eve` may claim. */
function hostileRequests(): fc.Arbitrary<readonly RecordedRequest[]> {
  const host = fc
    .tuple(fc.constantFrom('exfil', 'exfil.a', '1exfil'), fc.constantFrom('example.com', 'x.org'))
    .map((labels) => labels.join('.'))
  return fc.array(
    fc
      .record({ host, port: fc.integer({ min: 1, max: 65_535 }), decisions: fc.nat() })
      .map(({ decisions, ...target }) => ({
        tuple: {
          action: 'connect:tcp',
          ...target,
          address: null,
          path: null,
          path_cut: false,
          protocol: 'connect',
          program: '/usr/bin/git',
          decision: 'deny' as const,
          reason: 'default_deny',
          rules: [],
        },
        sightings: [
          {
            device_id: 'eve 1',
            username: 'eve',
            decisions: decisions + 1,
            first_ms: NOW_MS,
            last_ms: NOW_MS,
          },
        ],
      })),
    { minLength: 1, maxLength: 10 },
  )
}

function policy() {
  const network = fc.record({
    actions: fc.constantFrom(
      ['connect:tcp' as const],
      ['connect:tcp' as const, 'connect:udp' as const],
    ),
    decision: fc.constantFrom('allow' as const, 'deny' as const),
    resources: fc.array(
      fc.constantFrom(
        ...NAMES.map((name) => `${name}:443`),
        '*.example.com',
        '**.amazonaws.com:443',
        '203.0.113.0/24',
        '10.0.0.0/8',
        '169.254.169.254',
        '0.0.0.0/0',
      ),
      { minLength: 1, maxLength: 2 },
    ),
  })
  const files = fc.record({
    actions: fc.constantFrom(['read' as const], ['read' as const, 'write' as const]),
    decision: fc.constantFrom('allow' as const, 'deny' as const),
    resources: fc.array(fc.constantFrom(...PATHS, '/srv/data/**', '/home/*/work/**'), {
      minLength: 1,
      maxLength: 2,
    }),
  })
  return fc.record({
    teams: fc.subarray(TEAMS.map(({ id }) => id)),
    rules: fc.oneof(
      fc.array(network, { minLength: 1, maxLength: 2 }),
      fc.array(files, { minLength: 1, maxLength: 2 }),
    ),
  })
}

function nameParts(
  { teams, rules }: { teams: string[]; rules: readonly Omit<Rule, 'id' | 'name'>[] },
  name: string,
): Policy {
  return {
    id: name,
    name,
    scope: { teams },
    allowlist_v0: {
      rules: rules.map((rule, index) => ({ ...rule, id: `${name}_${index}`, name: `r${index}` })),
    },
  }
}
