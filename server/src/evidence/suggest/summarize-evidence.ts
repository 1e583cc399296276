import type { SuggestionEvidence } from '@palisade/protocol'
import type { Seen } from './suggest-input.ts'

const MOST_NAMES = 10
const MOST_PROGRAMS = 10

/** Sums up sightings. Throws for none. */
export function summarizeEvidence(seen: readonly Seen[]): SuggestionEvidence {
  const usernames = new Set(seen.flatMap(({ username }) => (username === null ? [] : [username])))
  const devices = new Set(seen.map(({ device_id }) => device_id))
  const programs = new Map<string | null, number>()
  let [decisions, firstMs, lastMs] = [0, Infinity, -Infinity]
  for (const each of seen) {
    decisions += each.decisions
    firstMs = Math.min(firstMs, each.first_ms)
    lastMs = Math.max(lastMs, each.last_ms)
    programs.set(each.program, (programs.get(each.program) ?? 0) + each.decisions)
  }
  return {
    devices: devices.size,
    users: usernames.size,
    decisions,
    first_at: new Date(firstMs).toISOString(),
    last_at: new Date(lastMs).toISOString(),
    usernames: [...usernames].toSorted().slice(0, MOST_NAMES),
    device_ids: [...devices].toSorted().slice(0, MOST_NAMES),
    programs: [...programs]
      .map(([program, count]) => ({ program, decisions: count }))
      .toSorted((a, b) => b.decisions - a.decisions)
      .slice(0, MOST_PROGRAMS),
  }
}

/** Counts the distinct devices. */
export function countDevices(seen: readonly Seen[]): number {
  return new Set(seen.map(({ device_id }) => device_id)).size
}

export function countDecisions(seen: readonly Seen[]): number {
  return seen.reduce((sum, { decisions }) => sum + decisions, 0)
}

export function usersOf(seen: readonly Seen[]): ReadonlySet<string | null> {
  return new Set(seen.map(({ username }) => username))
}
