import { runPalisade } from '../../../packages/launcher/machine/agent-status.ts'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'
import type { World } from '../world/create-world.ts'

/** The members of the answer of `palisade sync` that we read. */
export interface SyncResult {
  readonly outcome: string
  readonly revision: number | null
  readonly error: { readonly code: string; readonly message: string } | null
}

/** Has the agent fetch now. */
export async function syncAgent(world: World): Promise<SyncResult> {
  const run = await runPalisade(world, ['sync', '--json'])
  try {
    return JSON.parse(run.stdout) as SyncResult
  } catch {
    throw new LaunchError(`\`palisade sync\` ended with ${run.code}: ${run.output.trim()}`)
  }
}
