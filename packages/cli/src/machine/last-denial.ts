import type { AgentClient } from '@palisade/client'
import type { DecisionRecord } from '@palisade/protocol'

/** Newest records of denials among which the last denial is. */
const SEARCHED = 1_000

/**
 * The last denial of this machine, or null. The sums of a minute are written after it, so the last
 * line may have an earlier denial.
 */
export async function findLastDenial(
  agent: Pick<AgentClient, 'log'>,
): Promise<DecisionRecord | null> {
  let last: DecisionRecord | null = null
  for await (const line of agent.log({ limit: SEARCHED, denied: true }))
    if ('decision' in line && (last === null || lastTimeOf(line) >= lastTimeOf(last))) last = line
  return last
}

/** RFC 3339 in UTC with a fixed number of digits, so that texts compare like times. */
export function lastTimeOf({ until, time }: DecisionRecord): string {
  return until ?? time
}
