import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'

const MODULE = join(
  import.meta.dirname,
  '../../../../packages/cli/src/runtime/programs/inherited-descriptors.ts',
)
const EXECUTE_LS = `process.execve('/bin/ls', ['ls', '/proc/self/fd'], {})`

/** The descriptors of a program that replaces a Node process which was started with 3 and 40. */
function listAfter(script: string): readonly string[] {
  const file = openSync('/etc/os-release', 'r')
  onTestFinished(() => closeSync(file))
  const between = Array.from({ length: 36 }, () => 'ignore' as const)
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe', file, ...between, file],
    encoding: 'utf8',
  })
  expect(ended.status, ended.stderr).toBe(0)
  return ended.stdout.trim().split('\n')
}

describe.runIf(process.platform === 'linux')('a program that replaces the command', () => {
  it('gets the standard streams alone', () => {
    const close = `import { closeInheritedDescriptors } from '${MODULE}'
      closeInheritedDescriptors(); ${EXECUTE_LS}`

    // The last one is the directory that ls reads.
    expect(listAfter(close)).toEqual(['0', '1', '2', '3'])
  })

  it('would else get a descriptor beyond those that Node protects', () => {
    expect(listAfter(EXECUTE_LS)).toContain('40')
  })
})
