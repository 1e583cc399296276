import type { Change } from '@palisade/policy-analysis'
import type { Style } from '../terminal/style.ts'
import type { AudienceChanges, PlanComparison } from './compare-audiences.ts'

/** Limit of one list for a reader; `--json` has all. */
const MAX_CHANGES = 40

/**
 * Formats newly reachable and newly blocked resources, once for all audiences with equal changes.
 */
export function formatComparison({ audiences, omitted }: PlanComparison, style: Style): string {
  const groups = new Map<string, AudienceChanges[]>()
  for (const audience of audiences) {
    const key = JSON.stringify([audience.reachable, audience.blocked, audience.complete])
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [audience])
    else group.push(audience)
  }
  const sections = [...groups.values()].flatMap(([first, ...rest]) =>
    first === undefined ? [] : [formatGroup(nameOf([first, ...rest], audiences), first, style)],
  )
  const open =
    omitted === 0
      ? ''
      : `${style.warning(`${omitted} more combinations of teams were not compared`)}\n`
  return sections.join('\n') + open
}

function formatGroup(
  name: string,
  { reachable, blocked, complete }: AudienceChanges,
  style: Style,
): string {
  const head = style.strong(`For ${name}:`)
  const isUnchanged = reachable.length + blocked.length === 0 && complete
  return [
    head,
    ...(isUnchanged ? ['  every request is decided as before'] : []),
    ...formatList('newly reachable', reachable, style.good, style),
    ...formatList('newly blocked', blocked, style.bad, style),
    ...(complete ? [] : [style.warning('  too large to compare completely: more may change')]),
  ]
    .map((line) => `${line}\n`)
    .join('')
}

function formatList(
  title: string,
  changes: readonly Change[],
  paint: (text: string) => string,
  style: Style,
): string[] {
  if (changes.length === 0) return []
  const shown = changes.slice(0, MAX_CHANGES)
  const more = changes.length - shown.length
  return [
    `  ${paint(title)}`,
    ...shown.map((change) => `    ${formatChange(change, style)}`),
    ...(more > 0 ? [style.plain(`    and ${more} more; \`--json\` has all`)] : []),
  ]
}

/** "connect:tcp **.example.com:443, except api.example.com (by rule `x` of policy `y`)" */
function formatChange(
  { action, resource, within, only, except, rules }: Change,
  style: Style,
): string {
  const kept = [...except.allowed, ...except.denied]
  const cause = rules.map(({ rule_name, policy_name }) => `\`${rule_name}\` of \`${policy_name}\``)
  return (
    style.plain(`${action} ${resource}`) +
    style.plain(within === undefined ? '' : ` within ${within}`) +
    (only === undefined ? '' : ` (${ONLY[only]})`) +
    style.plain(kept.length === 0 ? '' : `, except ${kept.join(', ')}`) +
    style.quiet(cause.length === 0 ? '' : `  by rule ${[...new Set(cause)].join(', ')}`)
  )
}

const ONLY: Readonly<Record<NonNullable<Change['only']>, string>> = {
  allowed: 'as far as other rules allow it',
  with_allowed_address: 'together with an allowed address',
  with_allowed_name: 'together with an allowed name',
}

function nameOf(group: readonly AudienceChanges[], all: readonly AudienceChanges[]): string {
  const isEverybody = group.length === all.length && group[0]?.teams.length === 0
  return isEverybody ? 'everybody' : group.map(({ teams }) => membersOf(teams)).join('; ')
}

function membersOf(teams: readonly string[]): string {
  if (teams.length === 0) return 'users in no team that a policy names'
  const names = teams.map((team) => `\`${team}\``)
  return teams.length === 1
    ? `members of team ${names.join('')}`
    : `members of teams ${names.join(' and ')} together`
}
