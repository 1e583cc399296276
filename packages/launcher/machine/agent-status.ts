import { join } from 'node:path'
import { captureChild } from '../process/capture-child.mjs'
import { bundleOf, CLI } from '../programs.mjs'
import type { Surroundings } from './start-server.ts'

export interface PoliciesInForce {
  readonly revision: number
  readonly policies: number
  readonly rules: number
}

/** The members of the agent's status that we read. */
export interface AgentStatus {
  readonly state: string
  readonly proxy: string
  readonly bundle: PoliciesInForce | null
  readonly sync: {
    readonly failing_since: string | null
    readonly last_error: { readonly code: string; readonly message: string } | null
  }
  readonly cache_problem: { readonly file: string; readonly message: string } | null
}

/** Runs the palisade command as a person would. */
export function runPalisade(
  { root, cwd, node, env }: Surroundings,
  args: readonly string[],
  input = '',
) {
  const words = [...CLI.nodeOptions, join(root, bundleOf(CLI)), ...args]
  return captureChild(node, words, { cwd, env, input })
}

/** Returns null while no agent answers. */
export async function readAgentStatus(surroundings: Surroundings): Promise<AgentStatus | null> {
  const run = await runPalisade(surroundings, ['status', '--json'])
  try {
    const value: unknown = JSON.parse(run.stdout)
    return isAgentStatus(value) ? value : null
  } catch {
    return null
  }
}

/** Tells a status from an error; the command of the same build writes both. */
function isAgentStatus(value: unknown): value is AgentStatus {
  return typeof value === 'object' && value !== null && 'state' in value
}
