import { existsSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { createTimedCommand, type TimedCommand } from '../timed-command.ts'

export type SandboxPeer = {
  readonly key: 'sandbox_runtime' | 'mxc'
  readonly name: string
} & ({ readonly command: TimedCommand } | { readonly command: null; readonly problem: string })

const MODULES = join(import.meta.dirname, '../../../peers/node_modules')
const SANDBOX_RUNTIME = join(MODULES, '@anthropic-ai/sandbox-runtime/dist/cli.js')
const MXC = join(MODULES, '@microsoft/mxc-sdk')
const NOT_INSTALLED = { command: null, problem: 'it is not installed' } as const

/** The peers that run `true` in a sandbox whose network leads to a proxy. */
export function sandboxPeers(folder: string, cwd: string, proxyPort: number): SandboxPeer[] {
  const settings = join(folder, 'srt-settings.json')
  const network = { allowedDomains: ['example.com'], deniedDomains: [] }
  const filesystem = { denyRead: [], allowWrite: ['.'], denyWrite: [] }
  writeFileSync(settings, JSON.stringify({ network, filesystem }))
  const env = { HOME: homedir() }
  const node = (path: string, args: readonly string[]): TimedCommand =>
    createTimedCommand(process.execPath, [path, ...args], { cwd, env })
  const script = join(import.meta.dirname, 'mxc-true.ts')
  return [
    {
      key: 'sandbox_runtime',
      name: 'sandbox-runtime',
      ...(existsSync(SANDBOX_RUNTIME)
        ? { command: node(SANDBOX_RUNTIME, ['--settings', settings, '--', 'true']) }
        : NOT_INSTALLED),
    },
    {
      key: 'mxc',
      name: 'mxc-sdk',
      ...(existsSync(MXC)
        ? { command: node(script, [`http://127.0.0.1:${proxyPort}`, cwd]) }
        : NOT_INSTALLED),
    },
  ]
}
