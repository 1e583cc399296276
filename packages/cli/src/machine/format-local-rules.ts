import type { AgentStatus } from '@palisade/protocol'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'

const MAX_SHOWN = 10

type LocalRules = NonNullable<AgentStatus['local_rules']>
type LocalRule = LocalRules['rules'][number]

/** Status rows for the rules of this machine's own file: a count, then the rules. */
export function formatLocalRules(
  { denies, allows, rules }: LocalRules,
  style: Style,
): readonly [string, string][] {
  const inactive =
    allows === 0
      ? ''
      : `; ${count(allows, 'allow')} inactive: the organization governs this machine`
  const shown = rules.slice(0, MAX_SHOWN)
  const more = denies + allows - shown.length
  return [
    ['local rules', `${count(denies, 'deny', 'denies')} in force${inactive}`],
    ...shown.map((rule): [string, string] => ['', style.plain(formatRule(rule))]),
    ...(shown.length > 0 && more > 0
      ? [['', `and ${count(more, 'more rule')}`] satisfies [string, string]]
      : []),
  ]
}

function formatRule({ decision, name, policy_name, ...rule }: LocalRule): string {
  const { actions, resources, resource_count } = rule
  const more = resource_count - resources.length
  const state = decision === 'allow' ? ' (inactive)' : ''
  return (
    `${decision}${state} by rule \`${name}\` of \`${policy_name}\`: ${actions.join(', ')} ` +
    `${resources.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  )
}
