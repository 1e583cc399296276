import type { AgentClient } from '@palisade/client'
import type { DecisionRecord, RecordLine } from '@palisade/protocol'

/** Newest records of denials among which the last denial is. */
const SEARCHED = 1_000
/** Questions to the local API are no denials of programs. */
const DENIALS = { limit: SEARCHED, denied: true, questions: false } as const

type Log = Pick<AgentClient, 'log'>

/** A position in the records of this machine. */
export type LogPosition = Pick<RecordLine, 'boot' | 'seq'>

/**
 * The last denial of this machine, or null. The sums of a minute are written after it, so the last
 * line may have an earlier denial.
 */
export async function findLastDenial(agent: Log): Promise<DecisionRecord | null> {
  let last: DecisionRecord | null = null
  for await (const line of agent.log(DENIALS))
    if ('decision' in line && (last === null || lastTimeOf(line) >= lastTimeOf(last))) last = line
  return last
}

/** The position of the newest record; null before the first. */
export async function findNewestPosition(agent: Log): Promise<LogPosition | null> {
  let newest: LogPosition | null = null
  for await (const line of agent.log({ limit: 1 })) newest = line
  return newest
}

/** The denials after a position, or all of this start of an agent that was started since. */
export async function findDenialsAfter(
  agent: Log,
  position: LogPosition | null,
): Promise<readonly DecisionRecord[]> {
  const found: DecisionRecord[] = []
  for await (const line of agent.log(DENIALS)) if ('decision' in line) found.push(line)
  const boot = found.at(-1)?.boot
  const after = boot === position?.boot ? (position?.seq ?? 0) : 0
  return found.filter((record) => record.boot === boot && record.seq > after)
}

/** RFC 3339 in UTC with a fixed number of digits, so that texts compare like times. */
export function lastTimeOf({ until, time }: DecisionRecord): string {
  return until ?? time
}
