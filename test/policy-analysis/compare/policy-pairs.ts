import type { CompileOptions, Policy, PolicySet, Rule } from '@palisade/policy-core'
import * as fc from 'fast-check'
import { addresses, addressPatterns } from '../../policy-core/arbitraries/address.ts'
import { namePatterns } from '../../policy-core/arbitraries/name.ts'
import { pathPatterns } from '../../policy-core/arbitraries/path.ts'
import { extraPolicies, policySets } from '../../policy-core/arbitraries/policy-set.ts'
import { formatAddress } from '../../policy-core/reference/address.ts'

export interface PolicyPair {
  readonly before: PolicySet
  readonly after: PolicySet
  readonly options: CompileOptions
}

type Edit = (set: PolicySet) => PolicySet

/** Two policy sets: usually one and its edited copy, sometimes two unrelated ones. */
export function policyPairs(): fc.Arbitrary<PolicyPair> {
  return fc
    .record({
      start: policySets(),
      other: policySets(),
      edits: fc.array(edit(), { minLength: 1, maxLength: 3 }),
      isReversed: fc.boolean(),
      isIndependent: fc.constantFrom(true, false, false, false, false),
    })
    .map(({ start, other, edits, isReversed, isIndependent }) => {
      const edited = isIndependent
        ? { ...other.set, home: start.set.home }
        : edits.reduce((set, change) => change(set), start.set)
      const [before, after] = isReversed ? [edited, start.set] : [start.set, edited]
      return { before, after, options: start.options }
    })
}

/** Two policy sets of which the second only tightens the first. */
export function tightenedPairs(): fc.Arbitrary<PolicyPair> {
  const edits = fc.oneof(
    fc
      .nat(15)
      .map((place): Edit => editRule(place, (rule) => (rule.decision === 'allow' ? [] : [rule]))),
    extraPolicies('deny').map(
      (extra): Edit =>
        (set) =>
          withPolicy(set, extra),
    ),
    fc
      .tuple(fc.nat(15), fc.nat(2))
      .map(([place, resource]): Edit =>
        editRule(place, (rule) =>
          rule.decision === 'allow' ? [withoutResource(rule, resource)] : [rule],
        ),
      ),
  )
  return fc
    .record({ start: policySets(), edits: fc.array(edits, { minLength: 1, maxLength: 3 }) })
    .map(({ start, edits: changes }) => ({
      before: start.set,
      after: changes.reduce((set, change) => change(set), start.set),
      options: start.options,
    }))
}

/** Many allows, and a wide deny that is added or removed. */
export function crowdedPairs(): fc.Arbitrary<PolicyPair> {
  const connect = ['connect:tcp'] as const
  const read = ['read'] as const
  const allows = (actions: Rule['actions'], resource: fc.Arbitrary<string>) =>
    fc
      .array(resource, { minLength: 20, maxLength: 40 })
      .map((resources) => ({ decision: 'allow' as const, actions, resources }))
  return fc
    .record({
      names: allows(connect, namePatterns()),
      addresses: allows(connect, addressPatterns()),
      paths: allows(read, pathPatterns()),
      network: fc.constantFrom(
        '**.com',
        '**.test:443',
        '0.0.0.0/0',
        '10.0.0.0/8',
        '::/0',
        '2002::/16',
      ),
      folder: fc.constantFrom('/**', '/**/a/**', '/a/**', '/*/*'),
      start: policySets(),
      isReversed: fc.boolean(),
    })
    .map(({ names, addresses: literals, paths, network, folder, start, isReversed }) => {
      const deny = { decision: 'deny' as const }
      const add = (set: PolicySet, bodies: readonly Omit<Rule, 'id' | 'name'>[]): PolicySet =>
        bodies.reduce((all, body, at) => {
          const id = `pol_${body.decision}_${at}`
          const rules = [{ id: 'r', name: 'r', ...body }]
          return withPolicy(all, { id, name: id, allowlist_v0: { rules } })
        }, set)
      const open = add({ ...start.set, governed: true }, [names, literals, paths])
      const closed = add(open, [
        { ...deny, actions: connect, resources: [network] },
        { ...deny, actions: read, resources: [folder] },
      ])
      const [before, after] = isReversed ? [open, closed] : [closed, open]
      return { before, after, options: start.options }
    })
}

function edit(): fc.Arbitrary<Edit> {
  const place = fc.nat(15)
  return fc.oneof(
    place.map((at): Edit => editRule(at, () => [])),
    place.map((at): Edit =>
      editRule(at, (rule) => [{ ...rule, decision: rule.decision === 'allow' ? 'deny' : 'allow' }]),
    ),
    fc
      .tuple(place, fc.nat(2))
      .map(([at, resource]): Edit => editRule(at, (rule) => [withoutResource(rule, resource)])),
    fc
      .tuple(place, fc.constantFrom('', ':443', ':80'))
      .map(([at, port]): Edit =>
        editRule(at, (rule) => [
          { ...rule, resources: rule.resources.map((text) => onPort(text, port)) },
        ]),
      ),
    fc
      .tuple(fc.constantFrom<Rule['decision']>('allow', 'deny'), fc.boolean())
      .chain(([decision, isLocal]) =>
        extraPolicies(decision).map(
          (extra): Edit =>
            (set) =>
              withPolicy(set, extra, isLocal),
        ),
      ),
    fc
      .array(addresses().map(formatAddress), { maxLength: 2 })
      .map((machine): Edit => (set) => ({ ...set, machine_addresses: machine })),
    fc.boolean().map((governed): Edit => (set) => ({ ...set, governed })),
    fc
      .constantFrom(undefined, '/a', '/b')
      .map((home): Edit => (set) => ({ ...set, home: set.home === '/a*' ? set.home : home })),
  )
}

/** Changes the port of a name or single address. Other resources stay unchanged. */
function onPort(text: string, port: string): string {
  if (/[/~[]/.test(text) || text.split(':').length > 2) return text
  return `${text.split(':')[0]}${port}`
}

function withoutResource(rule: Rule, place: number): Rule {
  const resources = rule.resources.filter((_, index) => index !== place)
  return resources.length === 0 ? rule : { ...rule, resources }
}

function withPolicy(set: PolicySet, extra: Policy, isLocal = false): PolicySet {
  return isLocal
    ? { ...set, local: [...(set.local ?? []), extra] }
    : { ...set, policies: [...(set.policies ?? []), extra] }
}

/** Replaces one rule, counted cyclically through all policies, by others. */
function editRule(place: number, change: (rule: Rule) => readonly Rule[]): Edit {
  return (set) => {
    const all = [...(set.policies ?? []), ...(set.local ?? [])].flatMap(rulesOf)
    const chosen = all[place % Math.max(all.length, 1)]
    const edited = (list: readonly Policy[] = []): Policy[] =>
      list.map((policy) => ({
        ...policy,
        allowlist_v0: {
          rules: rulesOf(policy).flatMap((rule) => (rule === chosen ? change(rule) : [rule])),
        },
      }))
    return { ...set, policies: edited(set.policies), local: edited(set.local) }
  }
}

function rulesOf(policy: Policy): readonly Rule[] {
  return policy.allowlist_v0?.rules ?? []
}
