import type { Device } from '@palisade/protocol'
import type { RunContext } from '../../runtime/run-context.ts'
import { formatAge } from '../../terminal/age.ts'
import { createShortIds } from '../../terminal/short-ids.ts'
import { formatTable, type Cell, type Line } from '../../terminal/table.ts'

/** Longer names are cut, so that the table fits a terminal. */
const MAX_NAME = 20

/** Formats machines as a table; `--json` has the full values. */
export function formatDevices(
  devices: readonly Device[],
  { isFiltered }: { readonly isFiltered: boolean },
  { io, style }: RunContext,
): string {
  if (devices.length === 0)
    return isFiltered
      ? 'no matching devices\n'
      : 'no devices; write `palisade enrol` on a machine\n'
  const age = (instant: string): string => formatAge(instant, io.now())
  const shortId = createShortIds(
    devices.map(({ id }) => id),
    style.isWide,
  )
  const hasErrors = devices.some(({ last_error }) => last_error !== undefined)
  return formatTable(
    [
      'NAME',
      'DEVICE',
      'USER',
      'LABELS',
      'STATE',
      'REV',
      hasErrors ? 'ERROR' : { wide: 'ERROR' },
      'LAST SEEN',
      { wide: 'AGENT' },
    ],
    devices.map((each) => [
      style.isWide ? (each.name ?? '') : shorten(each.name ?? ''),
      shortId(each.id),
      each.user ?? '',
      each.labels,
      each.revoked_at === undefined
        ? formatState(each)
        : ['revoked', { text: age(each.revoked_at), tone: 'quiet' }],
      each.revision === undefined ? '' : `${each.revision}`,
      each.last_error?.code ?? '',
      formatSeen(each, age),
      each.agent_version ?? '',
    ]),
    style,
  )
}

/**
 * The state, and how far it is enforced. A failed self-probe comes before all else: the policies
 * may not be in force at all.
 */
function formatState(device: Device): Cell {
  const { state = 'no report yet', enforcement, assurance } = device
  if (enforcement?.proxy === 'failed') return [state, 'probe failed']
  const lines: Line[] = [
    ...(device.default === 'observe' ? [{ text: 'observes', tone: 'warning' } as const] : []),
    ...(assurance === undefined ? [] : [{ text: assurance, tone: 'quiet' } as const]),
  ]
  return lines.length === 0 ? state : [state, ...lines]
}

function shorten(name: string): string {
  const characters = [...name]
  return characters.length <= MAX_NAME ? name : `${characters.slice(0, MAX_NAME - 1).join('')}…`
}

/** The later of poll and report, because polls are recorded up to a minute late. */
function formatSeen(
  { last_seen_at, reported_at }: Device,
  age: (instant: string) => string,
): string {
  const [first, ...others] = [last_seen_at, reported_at].filter((at) => at !== undefined)
  if (first === undefined) return 'never'
  return age(others.reduce((last, at) => (Date.parse(at) > Date.parse(last) ? at : last), first))
}
