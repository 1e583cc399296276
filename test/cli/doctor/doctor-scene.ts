import type { AgentStatus } from '@palisade/protocol'
import type { Check } from '../../../packages/cli/src/doctor/check.ts'
import { captureProgram } from '../../../packages/cli/src/runtime/programs/capture-program.ts'
import type { Machine } from '../proxied-programs/machine.ts'
import { runCli, type CliRun } from '../run-cli.ts'

export const WELL: Partial<AgentStatus> = {
  state: 'fresh',
  bundle: {
    revision: 12,
    issued_at: '2026-11-21T11:57:00.000Z',
    stale_at: '2026-11-22T11:57:00.000Z',
    expires_at: '2026-11-28T12:00:00.000Z',
    policies: 1,
    rules: 1,
    source: 'server',
  },
  sync: {
    last_attempt_at: '2026-11-21T11:57:00.000Z',
    last_success_at: '2026-11-21T11:57:00.000Z',
    failing_since: null,
    last_error: null,
    next_attempt_at: null,
    awaiting: null,
  },
  probes: { proxy: { at: '2026-11-21T11:30:00.000Z', ok: true, detail: 'passed' } },
}

export async function examine(
  machine: Machine,
  env: object = {},
  argv: string[] = [],
): Promise<CliRun> {
  const setting = { ...machine, env: { ...machine.env, ...env }, captureProgram }
  return runCli(['doctor', ...argv], setting)
}

export function checksOf({ out }: CliRun): ReadonlyMap<string, Check> {
  const { checks } = JSON.parse(out) as { readonly checks: readonly Check[] }
  return new Map(checks.map((check) => [check.name, check]))
}
