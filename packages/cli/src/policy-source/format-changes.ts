import type { PolicyChange, ShownPolicy } from '@palisade/protocol'
import type { Style } from '../terminal/style.ts'

type Rule = ShownPolicy['rules'][number]
type Sign = '+' | '-' | '~'

/** One line of a difference; deeper lines belong to the line above. */
export interface DifferenceLine {
  readonly depth: number
  readonly sign: Sign
  readonly text: string
}

/** Lists the changes by policy, rule and resource. */
export function listDifferences(changes: readonly PolicyChange[]): readonly DifferenceLine[] {
  return changes.flatMap(({ old, new: policy }) => {
    if (old === undefined) return policy === undefined ? [] : linesOfPolicy('+', policy)
    return policy === undefined ? linesOfPolicy('-', old) : changedPolicy(old, policy)
  })
}

/** Formats the lines; empty without changes. */
export function formatDifferences(lines: readonly DifferenceLine[], style: Style): string {
  const paint = { '+': style.good, '-': style.bad, '~': style.warning }
  return lines
    .map(({ depth, sign, text }) => `${'    '.repeat(depth)}${paint[sign](`${sign} ${text}`)}\n`)
    .join('')
}

function linesOfPolicy(sign: Sign, policy: ShownPolicy): DifferenceLine[] {
  const shadow = policy.mode === 'shadow' ? ', as a shadow' : ''
  const text = `policy \`${policy.name}\` for ${audience(policy)}${shadow}`
  return [{ depth: 0, sign, text }, ...policy.rules.flatMap((rule) => linesOfRule(sign, rule))]
}

function linesOfRule(sign: Sign, rule: Rule): DifferenceLine[] {
  const until = rule.expires_at === undefined ? '' : ` until ${rule.expires_at}`
  const text = `rule \`${rule.name}\`: ${rule.decision} ${rule.actions.join(', ')}${until}`
  return [
    { depth: 1, sign, text },
    ...rule.resources.map((resource): DifferenceLine => ({ depth: 2, sign, text: resource })),
  ]
}

function changedPolicy(old: ShownPolicy, policy: ShownPolicy): DifferenceLine[] {
  const before = new Map(old.rules.map((rule) => [rule.name, rule]))
  const after = new Map(policy.rules.map((rule) => [rule.name, rule]))
  const removed = old.rules.filter(({ name }) => !after.has(name))
  const scopes = [audience(old), audience(policy)]
  const modes = [old.mode ?? 'enforce', policy.mode ?? 'enforce']
  const isMoved = orderChanged(
    old.rules.flatMap(({ name }) => (after.has(name) ? [name] : [])),
    policy.rules.flatMap(({ name }) => (before.has(name) ? [name] : [])),
  )
  return [
    { depth: 0, sign: '~', text: `policy \`${policy.name}\`` },
    ...note(scopes[0] !== scopes[1], 1, `applies to ${scopes.join(' → ')}`),
    ...note(modes[0] !== modes[1], 1, `mode ${modes.join(' → ')}`),
    ...removed.flatMap((rule) => linesOfRule('-', rule)),
    ...policy.rules.flatMap((rule) => {
      const previous = before.get(rule.name)
      return previous === undefined ? linesOfRule('+', rule) : changedRule(previous, rule)
    }),
    ...note(isMoved, 1, 'order of rules (changes no decision)'),
  ]
}

function changedRule(old: Rule, rule: Rule): DifferenceLine[] {
  const actions = [old.actions.join(', '), rule.actions.join(', ')]
  const expiries = [old.expires_at ?? 'never', rule.expires_at ?? 'never']
  const changes: DifferenceLine[] = [
    ...note(old.decision !== rule.decision, 2, `${old.decision} → ${rule.decision}`),
    ...note(actions[0] !== actions[1], 2, actions.join(' → ')),
    ...note(expiries[0] !== expiries[1], 2, `expires ${expiries.join(' → ')}`),
    ...changedResources(old.resources, rule.resources),
  ]
  if (changes.length === 0) return []
  return [{ depth: 1, sign: '~', text: `rule \`${rule.name}\`` }, ...changes]
}

function changedResources(old: readonly string[], resources: readonly string[]): DifferenceLine[] {
  const before = new Set(old)
  const after = new Set(resources)
  const removed = [...before].filter((resource) => !after.has(resource))
  const added = [...after].filter((resource) => !before.has(resource))
  const line =
    (sign: Sign) =>
    (text: string): DifferenceLine => ({ depth: 2, sign, text })
  // Also true for a repeated resource, which changes only the length.
  const isMoved = removed.length + added.length === 0 && orderChanged(old, resources)
  return [
    ...removed.map(line('-')),
    ...added.map(line('+')),
    ...note(isMoved, 2, 'order of resources (changes no decision)'),
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
