import fc from 'fast-check'
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { changeEnvironment } from '../../../packages/cli/src/proxied-programs/env-command.ts'
import { proxyEnvironment } from '../../../packages/cli/src/proxied-programs/proxy-environment.ts'
import { quoteShell } from '../../../packages/cli/src/terminal/quote-shell.ts'

const PROXY = 'http://127.0.0.1:8421'

describe('the environment of the proxy', () => {
  it('leads ssh to this program, wherever it is installed', () => {
    const self = [`/opt/it's 100% "mine"/node`, '/opt/$HOME/palisade.cjs']
    const { GIT_SSH_COMMAND = '' } = changeEnvironment(
      {},
      proxyEnvironment({ proxy: PROXY, env: {}, self, java: false }),
    )

    // Git runs the variable in a shell; ssh reads `%` and runs the command in another shell.
    const option = print(GIT_SSH_COMMAND.replace('ssh -o', "printf '%s'")).slice(13)
    const command = option.replaceAll('%%', '%').replace(/^/, `printf '%s\\n' `)

    expect(print(command).split('\n').slice(0, 5)).toEqual([...self, 'connect', '--proxy', PROXY])
  })
})

describe('quoteShell', () => {
  it('writes one word with the same text', () => {
    const text = fc.string({ unit: 'binary', maxLength: 20 }).filter((value) => !/\0/.test(value))
    const wellFormed = text.filter((value) => value.isWellFormed())
    fc.assert(
      fc.property(fc.array(wellFormed, { minLength: 1, maxLength: 30 }), (values) => {
        const script = values.map((value) => `printf '%s\\0' ${quoteShell(value)}\n`).join('')
        expect(print(script).split('\0').slice(0, -1)).toEqual(values)
      }),
      { numRuns: 20 },
    )
  })
})

function print(script: string): string {
  return spawnSync('sh', ['-c', script], { encoding: 'utf8' }).stdout
}
