import * as fc from 'fast-check'
import {
  FILESYSTEM_ACTIONS,
  NETWORK_ACTIONS,
  type Action,
  type CompileOptions,
  type Grant,
  type Policy,
  type PolicySet,
  type Rule,
} from '@palisade/policy-core'
import { formatAddress } from '../reference/address.ts'
import { addresses, addressPatterns } from './address.ts'
import { namePatterns } from './name.ts'
import { pathPatterns } from './path.ts'

export interface CompiledFrom {
  readonly set: PolicySet
  readonly options: CompileOptions
}

/** Policies of an organization and of the user in every state of precedence. */
export function policySets(): fc.Arbitrary<CompiledFrom> {
  return fc
    .record({
      org: fc.array(rules(), { minLength: 1, maxLength: 3 }),
      local: fc.array(rules(), { maxLength: 1 }),
      governed: fc.constantFrom(undefined, undefined, undefined, true, false),
      home: fc.constantFrom(undefined, '/a', '/a/b', '/a*'),
      machine: fc.array(addresses().map(formatAddress), { maxLength: 2 }),
      unlisted: fc.constantFrom(undefined, false, true),
      revision: fc.constantFrom(undefined, null, 7),
      caseSensitive: fc.constantFrom(undefined, true, false),
    })
    .map(({ org, local, governed, home, machine, unlisted, revision, caseSensitive }) => ({
      set: {
        policies: policies('pol', org),
        local: policies('own', local),
        governed,
        home,
        machine_addresses: machine,
        resolve_unlisted_names: unlisted,
        revision,
      },
      options: { caseSensitive },
    }))
}

/** A policy with one more rule of either domain with `decision`, under an unused id. */
export function extraPolicies(decision: Rule['decision']): fc.Arbitrary<Policy> {
  return rules().map(([first]) => ({
    id: 'pol_extra',
    name: 'extra',
    allowlist_v0: { rules: [{ ...first, id: 'rule_extra', name: 'extra', decision }] },
  }))
}

/** The times at which the rules of `conditionalSets` expire, and times around them. */
export const INSTANTS = [0, 1_000, 2_000] as const

/**
 * Like `policySets`, with rules that expire, with shadow policies and with every default. The time
 * is one at which rules expire, or a millisecond beside it.
 */
export function conditionalSets(): fc.Arbitrary<CompiledFrom & { readonly now: number }> {
  const mode = fc.constantFrom(undefined, undefined, 'enforce', 'shadow', 'shadow', 'Shadow')
  const expiry = fc.option(fc.constantFrom(...INSTANTS), { freq: 3, nil: null })
  return fc
    .record({
      from: policySets(),
      modes: fc.infiniteStream(mode),
      expiries: fc.infiniteStream(expiry),
      standard: fc.constantFrom(undefined, undefined, 'enforce', 'observe', 'observe', 'Observe'),
      instant: fc.constantFrom(...INSTANTS),
      beside: fc.constantFrom(-1, 0, 1),
    })
    .map(({ from: { set, options }, modes, expiries, standard, instant, beside }) => {
      const next = <T>(stream: Iterator<T>): T => stream.next().value as T
      const conditional = (list: readonly Policy[] = []): Policy[] =>
        list.map((policy) => ({
          ...policy,
          mode: next(modes),
          allowlist_v0: {
            rules: (policy.allowlist_v0?.rules ?? []).map((rule) => {
              const expires = next(expiries)
              return expires === null
                ? rule
                : { ...rule, expires_at: new Date(expires).toISOString() }
            }),
          },
        }))
      const { policies: org, local } = set
      return {
        set: {
          ...set,
          policies: conditional(org),
          local: conditional(local),
          default: standard,
        },
        options,
        now: instant + beside,
      }
    })
}

/** Like `conditionalSets`, with grants that begin and end at the same times. */
export function grantedSets(): ReturnType<typeof conditionalSets> {
  return fc
    .record({ from: conditionalSets(), grants: fc.array(grants(), { minLength: 1, maxLength: 3 }) })
    .map(({ from: { set, options, now }, grants: bodies }) => ({
      set: { ...set, grants: bodies.map((body, index) => ({ id: `acr_${index}`, ...body })) },
      options,
      now,
    }))
}

function grants(): fc.Arbitrary<Omit<Grant, 'id'>> {
  const time = (instant: number) => new Date(instant).toISOString()
  return fc
    .record({
      rule: rules(),
      which: fc.nat(3),
      begins: fc.constantFrom(-1_000, ...INSTANTS),
      lasts: fc.constantFrom(1_000, 3_000),
    })
    .map(({ rule: bodies, which, begins, lasts }) => {
      const { actions, resources } = bodies[which % bodies.length]!
      const [action = 'read'] = actions
      const [not_before, expires_at] = [time(begins), time(begins + lasts)]
      return { action, resources, not_before, expires_at }
    })
}

type RuleBody = Pick<Rule, 'actions' | 'decision' | 'resources'>

/** The rules of one policy, all of one domain. */
function rules(): fc.Arbitrary<[RuleBody, ...RuleBody[]]> {
  return fc.oneof(
    { weight: 3, arbitrary: rulesOf(NETWORK_ACTIONS, networkPatterns()) },
    { weight: 2, arbitrary: rulesOf(FILESYSTEM_ACTIONS, pathPatterns()) },
  )
}

function networkPatterns(): fc.Arbitrary<string> {
  return fc.oneof(namePatterns(), addressPatterns())
}

function rulesOf(
  actions: readonly [Action, ...Action[]],
  resource: fc.Arbitrary<string>,
): fc.Arbitrary<[RuleBody, ...RuleBody[]]> {
  const rule = fc.record({
    // The first action often, because most rules share it.
    actions: fc.oneof(
      fc.constant<readonly Action[]>([actions[0]]),
      fc.subarray<Action>([...actions], { minLength: 1 }),
    ),
    decision: fc.constantFrom('allow', 'allow', 'deny'),
    resources: fc.array(resource, { minLength: 1, maxLength: 3 }),
  })
  return fc.tuple(rule, fc.array(rule, { maxLength: 3 })).map(([first, rest]) => [first, ...rest])
}

function policies(prefix: string, bodies: readonly (readonly RuleBody[])[]): Policy[] {
  return bodies.map((body, index) => ({
    id: `${prefix}_${index}`,
    name: `policy ${index}`,
    allowlist_v0: {
      rules: body.map((rule, place) => ({ id: `rule_${place}`, name: `rule ${place}`, ...rule })),
    },
  }))
}
