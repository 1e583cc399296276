import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { divide, rangeOf } from '../figures/range.ts'
import type { Rows } from '../figures/table.ts'
import { takeTurns } from '../figures/take-turns.ts'
import { runNode, type CommandOptions } from '../process/run-command.ts'
import { PALISADE, type SandboxMachine } from './sandbox-machine.ts'
import { startStubAgent } from './stub-agent.ts'

/** A document with one rule, for `palisade check` without an agent. */
const DOCUMENT = {
  policies: [
    {
      name: 'one',
      rules: [
        {
          name: 'example',
          decision: 'allow',
          actions: ['connect:tcp'],
          resources: ['example.com:443'],
        },
      ],
    },
  ],
}
const TOOL_CALL = JSON.stringify({
  hook_event_name: 'PreToolUse',
  tool_name: 'Read',
  tool_input: { file_path: '/etc/hosts' },
  cwd: '/',
})

/**
 * Runs `palisade` from its start to its exit, beside an empty script. `run` is answered at once by
 * an agent that does nothing else, and told to become `/bin/true`.
 */
export async function measureClient(
  { env, workspaces: { empty: cwd } }: SandboxMachine,
  folder: string,
  rounds: number,
): Promise<Rows> {
  const policies = join(folder, 'policies.json')
  writeFileSync(policies, JSON.stringify(DOCUMENT))
  const stub = await startStubAgent(join(folder, 'stub'))
  const timed =
    (args: readonly string[], expected = '', options: CommandOptions = {}) =>
    async (): Promise<number> => {
      const { output, tookMs } = await runNode(args, { cwd, env, ...options })
      if (!output.includes(expected)) throw new Error(`${args.join(' ')}: \`${output}\``)
      return tookMs
    }
  const ours = (...args: string[]): string[] => [...PALISADE, ...args]
  const check = ours('check', 'connect:tcp', 'example.com:443', '--policies', policies)
  const stubbed = { env: { ...env, PALISADE_AGENT_SOCKET: stub.socketPath } }
  const contenders = {
    'node -e 0': timed(['-e', '0']),
    'palisade --version': timed(ours('--version'), '.'),
    'palisade hook': timed(ours('hook', 'claude'), 'default_deny', { input: TOOL_CALL }),
    'palisade check of a file': timed(check, 'allow'),
    'palisade run, client': timed(ours('run', '--', 'true'), '', stubbed),
  }
  try {
    const took = await takeTurns(rounds, contenders)
    const node = took['node -e 0']
    const rows = Object.entries(took).map(([name, ms]) => [
      name,
      { ms: rangeOf(ms), 'x node': rangeOf(divide(ms, node)) },
    ])
    return Object.fromEntries(rows) as Rows
  } finally {
    await stub.stop()
  }
}
