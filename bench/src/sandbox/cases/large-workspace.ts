import { rangeOf, type Range } from '../../measure/range.ts'
import { RUN, type SandboxMachine } from '../sandbox-machine.ts'
import { createTimedCommand, type TimedCommand } from '../timed-command.ts'
import { DENY_PATTERNS } from '../workspaces.ts'

export interface LargeWorkspaceResult {
  /** `palisade run true` in the large workspace and in an empty one, to its exit. */
  readonly large_ms: Range
  readonly empty_ms: Range
  /** Their difference in the same round. */
  readonly more_ms: Range
  readonly files: number
  readonly deny_patterns: number
  readonly rounds: number
}

/** Starts sandboxes in a large and in an empty workspace in alternation. */
export async function measureLargeWorkspace(
  machine: SandboxMachine,
  files: number,
  count: number,
): Promise<LargeWorkspaceResult> {
  const run = (cwd: string): TimedCommand =>
    createTimedCommand(process.execPath, [...RUN, 'true'], { cwd, env: machine.env })
  const [large, empty] = [run(machine.workspaces.large), run(machine.workspaces.empty)]
  const rounds: { large: number; empty: number }[] = []
  // Round 0 is discarded, because it reads the directories from disk.
  for (let round = 0; round <= count; round += 1) {
    const took = { large: await large.once(), empty: 0 }
    await machine.settled()
    rounds.push({ ...took, empty: await empty.once() })
    await machine.settled()
  }
  const counted = rounds.slice(1)
  return {
    large_ms: rangeOf(counted.map(({ large }) => large)),
    empty_ms: rangeOf(counted.map(({ empty }) => empty)),
    more_ms: rangeOf(counted.map(({ large, empty }) => large - empty)),
    files,
    deny_patterns: DENY_PATTERNS,
    rounds: count,
  }
}
