import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { realpath } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { bundleClaims, policyOf } from '../../agent/fixture/bundle.ts'
import { startLocalApi } from '../../agent/fixture/local-api.ts'
import { temporaryDirectory } from '../../agent/fixture/temporary-directory.ts'
import { runCli, type CliRun } from '../run-cli.ts'

export interface HookCase {
  readonly title: string
  readonly verdict: 'pass' | 'deny'
  /** Part of the reason. */
  readonly because?: string
  readonly input: Readonly<Record<string, unknown>>
}

export function casesOf(host: string, work: string): readonly HookCase[] {
  const text = readFileSync(join(import.meta.dirname, 'fixtures', `${host}.json`), 'utf8')
  return (JSON.parse(text.replaceAll('$WORK', work)) as { cases: readonly HookCase[] }).cases
}

/** A working directory with links out of it, and an agent whose policy allows to read it. */
export async function startScene() {
  const work = await realpath(await temporaryDirectory())
  for (const name of ['out', 'secret']) mkdirSync(join(work, name))
  for (const name of ['a.txt', 'out/file.txt', 'secret/key']) writeFileSync(join(work, name), 'x')
  symlinkSync('/etc', join(work, 'link'))
  symlinkSync('/etc/palisade-test-missing', join(work, 'out', 'dangling'))
  symlinkSync('loop', join(work, 'loop'))
  const files = policyOf(
    ['allow', 'read', `${work}/**`],
    ['allow', 'write', `${work}/out/**`],
    ['deny', 'read', `${work}/secret/**`],
  )
  const network = policyOf(
    ['allow', 'connect:tcp', 'allowed.test', 'inner.test', 'github.com'],
    ['allow', 'connect:tcp', 'tls.test:443'],
  )
  const bundle = bundleClaims({
    policies: [files, { ...network, id: 'pol_2', name: 'Network' }],
    settings: { resolve_unlisted_names: false, offline_allow: [], support_message: 'Ask in #net' },
  })
  const api = await startLocalApi(bundle, {
    'allowed.test': ['192.0.2.7'],
    'inner.test': ['127.0.0.1'],
    'tls.test': ['192.0.2.7'],
    'github.com': ['192.0.2.7'],
  })
  const env = { PALISADE_AGENT_SOCKET: api.socketPath }
  const hook = (host: string, stdin: string | Buffer | Readable, home = '/home/dev') =>
    runCli(['hook', host], { stdin, env, cwd: '/', home })
  const read = (path: string, home?: string): Promise<CliRun> =>
    hook(
      'claude',
      JSON.stringify({
        hook_event_name: 'PreToolUse',
        cwd: work,
        tool_name: 'Read',
        tool_input: { file_path: path },
      }),
      home,
    )
  return { ...api, work, hook, read, env }
}
