import type { SuggestionsResponse, UncoveredReason } from '@palisade/protocol'
import type { EvidenceTuple } from '../store/evidence-record.ts'
import type { Seen } from './suggest-input.ts'
import { countDecisions, countDevices, summarizeEvidence } from './summarize-evidence.ts'

const MOST_LISTED = 500

/** The reason why no suggestion covers a request. */
export interface Uncovered {
  readonly reason: UncoveredReason
  readonly detail: string
}

type RequestTarget = Pick<EvidenceTuple, 'action' | 'host' | 'port' | 'path'>

/** Collects the recorded requests that no suggestion covers, by reason and target. */
export interface UncoveredList {
  add(why: Uncovered, target: RequestTarget, seen: readonly Seen[]): void
  /** Number of pairs of a reason and a target. */
  count(): number
  format(): Pick<SuggestionsResponse, 'not_covered' | 'not_covered_totals'>
}

interface Entry extends Uncovered {
  readonly action: string | null
  readonly target: string
  readonly seen: Seen[]
}

export function createUncoveredList(): UncoveredList {
  const entries = new Map<string, Entry>()
  return {
    add({ reason, detail }, { action, ...rest }, seen) {
      if (seen.length === 0) return
      const target = formatTarget(rest)
      const key = JSON.stringify([reason, action, target, detail])
      const known = entries.get(key)
      if (known === undefined) entries.set(key, { reason, detail, action, target, seen: [...seen] })
      else for (const each of seen) known.seen.push(each)
    },
    count: () => entries.size,
    format: () => ({
      not_covered: [...entries.values()]
        .map((entry) => ({ entry, devices: countDevices(entry.seen) }))
        .toSorted((a, b) => b.devices - a.devices)
        .slice(0, MOST_LISTED)
        .map(({ entry: { seen, ...rest } }) => ({ ...rest, evidence: summarizeEvidence(seen) })),
      not_covered_totals: [...Map.groupBy(entries.values(), ({ reason }) => reason)]
        .map(([reason, some]) => ({
          reason,
          targets: some.length,
          decisions: some.reduce((sum, { seen }) => sum + countDecisions(seen), 0),
        }))
        .toSorted((a, b) => (a.reason < b.reason ? -1 : 1)),
    }),
  }
}

/** `host:port`, or a path; empty for a request without either. */
export function formatTarget({ host, port, path }: Omit<RequestTarget, 'action'>): string {
  if (path !== null) return path
  if (host === null || port === null) return ''
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}
