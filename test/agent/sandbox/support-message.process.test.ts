import { describe, expect, it } from 'vitest'
import { bundleClaims, policyOf } from '../fixture/bundle.ts'
import { endOf } from './fixture/machine.ts'
import { startUserMachine, type UserMachine } from './fixture/machine-process.ts'

const TEXT = String.raw`Ask in #network, 100 % \n sure`
const REQUESTS = ['--', 'sh', '-c', 'for url; do curl -s "$url"; done; exit 3', 'sh'] as const

/** A machine whose organization has a support message, with a deny of its user. */
function startMachine(): Promise<UserMachine> {
  const local = { ...policyOf(['deny', 'connect:tcp', 'mine.test']), id: 'local_network' }
  return startUserMachine('ordinary', {
    local: [local],
    names: { 'near.test': ['169.254.169.254'] },
    bundle: (project) =>
      bundleClaims({
        settings: { resolve_unlisted_names: false, offline_allow: [], support_message: TEXT },
        policies: [
          policyOf(['allow', 'read', `${project}/**`], ['allow', 'write', `${project}/**`]),
          { ...policyOf(['allow', 'connect:tcp', 'mine.test', 'near.test']), id: 'pol_2' },
        ],
      }),
  })
}

describe('the end of a run', () => {
  it('has the support message once after denials by the organization, and no other', async () => {
    const machine = await startMachine()
    const run = (...urls: readonly string[]) => endOf(machine.start([...REQUESTS, ...urls]))

    const other = await run('http://bad.test/', 'http://bad.test/', 'http://mine.test/')
    const own = await run('http://mine.test/')
    const near = await run('http://near.test/')

    const line = 'palisade: 3 denied: bad.test:80 (2), mine.test:80 – palisade request bad.test:80'
    expect(other).toMatchObject({ code: 3, stderr: `${line}\npalisade: ${TEXT}\n` })
    expect(own.stderr).toBe('palisade: 1 denied: mine.test:80 – palisade why\n')
    expect(near.stderr).toContain(`\npalisade: ${TEXT}\n`)
  })
})
