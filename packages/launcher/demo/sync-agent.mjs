import { runPalisade } from '../machine/agent-status.ts'
import { LaunchError } from '../prepare/launch-error.mjs'

/**
 * Has the agent fetch now.
 *
 * @param {import('./world.mjs').World} world
 * @returns {Promise<{ outcome: string, revision: number | null,
 *   error: { code: string, message: string } | null }>}
 */
export async function syncAgent(world) {
  const run = await runPalisade(world, ['sync', '--json'])
  try {
    return JSON.parse(run.stdout)
  } catch {
    throw new LaunchError(`\`palisade sync\` ended with ${run.code}: ${run.output.trim()}`)
  }
}
