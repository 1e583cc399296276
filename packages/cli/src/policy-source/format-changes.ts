import type { PolicyChange, ShownPolicy } from '@palisade/protocol'
import type { Style } from '../terminal/style.ts'

type Rule = ShownPolicy['rules'][number]
type Sign = '+' | '-' | '~'

/** One line of a difference; deeper ones belong to the one above. */
export interface DifferenceLine {
  readonly depth: number
  readonly sign: Sign
  readonly text: string
}

/** What changes, policy by policy, rule by rule, resource by resource. */
export function listDifferences(changes: readonly PolicyChange[]): readonly DifferenceLine[] {
  return changes.flatMap(({ old, new: policy }) => {
    if (old === undefined) return policy === undefined ? [] : wholePolicy('+', policy)
    return policy === undefined ? wholePolicy('-', old) : changedPolicy(old, policy)
  })
}

/** Lines for people; empty when nothing changes. */
export function formatDifferences(lines: readonly DifferenceLine[], style: Style): string {
  const paint = { '+': style.good, '-': style.bad, '~': style.warning }
  return lines
    .map(({ depth, sign, text }) => `${'    '.repeat(depth)}${paint[sign](`${sign} ${text}`)}\n`)
    .join('')
}

function wholePolicy(sign: Sign, policy: ShownPolicy): DifferenceLine[] {
  const text = `policy \`${policy.name}\` for ${audience(policy)}`
  return [{ depth: 0, sign, text }, ...policy.rules.flatMap((rule) => wholeRule(sign, rule))]
}

function wholeRule(sign: Sign, rule: Rule): DifferenceLine[] {
  const text = `rule \`${rule.name}\`: ${rule.decision} ${rule.actions.join(', ')}`
  return [
    { depth: 1, sign, text },
    ...rule.resources.map((resource): DifferenceLine => ({ depth: 2, sign, text: resource })),
  ]
}

function changedPolicy(old: ShownPolicy, policy: ShownPolicy): DifferenceLine[] {
  const before = new Map(old.rules.map((rule) => [rule.name, rule]))
  const after = new Map(policy.rules.map((rule) => [rule.name, rule]))
  const gone = old.rules.filter(({ name }) => !after.has(name))
  const scopes = [audience(old), audience(policy)]
  const isMoved = orderChanged(
    old.rules.flatMap(({ name }) => (after.has(name) ? [name] : [])),
    policy.rules.flatMap(({ name }) => (before.has(name) ? [name] : [])),
  )
  return [
    { depth: 0, sign: '~', text: `policy \`${policy.name}\`` },
    ...note(scopes[0] !== scopes[1], 1, `applies to ${scopes.join(' → ')}`),
    ...gone.flatMap((rule) => wholeRule('-', rule)),
    ...policy.rules.flatMap((rule) => {
      const was = before.get(rule.name)
      return was === undefined ? wholeRule('+', rule) : changedRule(was, rule)
    }),
    ...note(isMoved, 1, 'order of rules (decides nothing)'),
  ]
}

function changedRule(old: Rule, rule: Rule): DifferenceLine[] {
  const actions = [old.actions.join(', '), rule.actions.join(', ')]
  const changes: DifferenceLine[] = [
    ...note(old.decision !== rule.decision, 2, `${old.decision} → ${rule.decision}`),
    ...note(actions[0] !== actions[1], 2, actions.join(' → ')),
    ...changedResources(old.resources, rule.resources),
  ]
  if (changes.length === 0) return []
  return [{ depth: 1, sign: '~', text: `rule \`${rule.name}\`` }, ...changes]
}

function changedResources(old: readonly string[], resources: readonly string[]): DifferenceLine[] {
  const before = new Set(old)
  const after = new Set(resources)
  const gone = [...before].filter((resource) => !after.has(resource))
  const come = [...after].filter((resource) => !before.has(resource))
  const line =
    (sign: Sign) =>
    (text: string): DifferenceLine => ({ depth: 2, sign, text })
  // Also where one was repeated, which shows in the number alone.
  const isMoved = gone.length + come.length === 0 && orderChanged(old, resources)
  return [
    ...gone.map(line('-')),
    ...come.map(line('+')),
    ...note(isMoved, 2, 'order of resources (decides nothing)'),
  ]
}

function note(applies: boolean, depth: number, text: string): DifferenceLine[] {
  return applies ? [{ depth, sign: '~', text }] : []
}

function orderChanged(old: readonly string[], now: readonly string[]): boolean {
  return old.length !== now.length || old.some((text, index) => text !== now[index])
}

function audience({ scope }: ShownPolicy): string {
  const teams = scope.teams ?? []
  if (teams.length === 0) return 'everybody'
  return `${teams.length === 1 ? 'team' : 'teams'} ${teams.map((team) => `\`${team}\``).join(', ')}`
}
