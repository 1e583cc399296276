import type {
  DriftCause,
  NotJudgedCause,
  ReplayedChange,
  ReplayedGroup,
  ReplayResult,
} from '@palisade/protocol'
import { count } from '../terminal/count.ts'
import type { Style } from '../terminal/style.ts'
import { formatTable } from '../terminal/table.ts'

/** Formats a replay for people. */
export function formatReplay(replay: ReplayResult, style: Style): string {
  const { recorded, newly_denied, newly_allowed, unchanged } = replay
  const period = `${replay.from.slice(0, 10)} to ${replay.to.slice(0, 10)}`
  return [
    `${style.strong(`Replay of ${count(recorded.count, 'recorded request')}, ${period}`)}\n`,
    formatUpload(replay, style),
    formatBeginning(replay, style),
    formatChange('newly denied', newly_denied, style),
    formatChange('newly allowed', newly_allowed, style),
    `${unchanged.count} stay as they are\n`,
    formatByName(replay),
    ...replay.not_judged.map((each) => `${each.count} not judged: ${NOT_JUDGED[each.cause]}\n`),
    ...replay.drift.map((each) => `${each.count} recorded otherwise: ${DRIFT[each.cause]}\n`),
  ].join('')
}

const NOT_JUDGED: Readonly<Record<NotJudgedCause, string>> = {
  path_cut: 'the record has only the first segments of the path',
  home_unknown: 'a rule with `~` could match, and the home directory is unknown',
  invalid_request: 'the request cannot be read, and is denied in any case',
  not_a_member: 'the user is no member any more',
  too_many: 'there are too many different requests; replay fewer days',
}

const DRIFT: Readonly<Record<DriftCause, string>> = {
  break_glass: 'under break-glass',
  no_policy: 'the machine had no policy',
  policy_expired: 'the policies of the machine had expired',
  unsupported_policy: 'the machine could not read its policies',
  observed: 'the machine only observed',
  local_rule: 'a rule of the user denied',
  grant: 'a grant of access allowed, which is not part of a replay',
  revision: 'another revision decided, or a rule has expired since',
  other: 'for teams, home directory or addresses of the machine',
}

function formatUpload({ upload, sample_percent, recorded }: ReplayResult, style: Style): string {
  if (upload === 'full') return ''
  const texts = {
    off: 'machines upload no records at present; see `palisade org set --upload`',
    denials: 'machines upload denials alone, so newly denied requests cannot show',
    sampled: `machines upload ${String(sample_percent)} % of the allowed requests`,
  }
  const text = recorded.count === 0 && upload !== 'off' ? 'no records' : texts[upload]
  return `${style.warning(text)}\n`
}

const DAY_MS = 24 * 60 * 60_000

/** Machines may upload for a shorter time than the replay asks for. */
function formatBeginning({ from, recorded: { first_at } }: ReplayResult, style: Style): string {
  if (first_at === null || Date.parse(first_at) - Date.parse(from) < DAY_MS) return ''
  return `${style.warning(`no records before ${first_at.slice(0, 10)}`)}\n`
}

function formatByName({ without_address }: ReplayResult): string {
  return without_address.count === 0
    ? ''
    : `${without_address.count} judged by the name alone, because the record has no address\n`
}

function formatChange(title: string, change: ReplayedChange, style: Style): string {
  const { groups, more_groups, more_count } = change
  if (change.count === 0) return `0 ${title}\n`
  const head = ['COUNT', 'USERS', 'DEVICES', 'LAST', 'ACTION', 'TARGET', 'BEFORE', 'AFTER']
  const table = formatTable(head, groups.map(formatGroup), style)
  const more =
    more_groups === 0 ? '' : `and ${count(more_groups, 'more target')}, ${more_count} requests\n`
  const shown = title === 'newly denied' ? style.bad(title) : style.warning(title)
  return `${change.count} ${shown}\n${table}${more}`
}

function formatGroup(group: ReplayedGroup): readonly string[] {
  const { users, devices, last_at, action, target, before, after } = group
  return [
    String(group.count),
    String(users),
    String(devices),
    (last_at ?? '').slice(0, 10),
    action,
    target,
    formatDecision(before),
    formatDecision(after),
  ]
}

function formatDecision({ reason, rules }: ReplayedGroup['before']): string {
  const [rule] = rules
  if (rule === undefined) return reason
  const others = rules.length === 1 ? '' : ` (and ${rules.length - 1} more)`
  return `${rule.policy_name}: ${rule.rule_name}${others}`
}
