import { compilePolicy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { DOMAIN_NAMES } from '../../../../bench/src/workload/domain.ts'
import { requirePeer } from '../../../../bench/src/process/installed-peer.ts'
import { createDecide } from '../../../../bench/src/decide/contenders/ours.ts'
import { checkPeer, createPeers } from '../../../../bench/src/decide/contenders/peers.ts'
import { DOMAINS } from '../../../../bench/src/workload/domains.ts'
import { createRandom } from '../../../../bench/src/workload/random.ts'
import {
  createScenario,
  drawRequests,
  policiesOf,
} from '../../../../bench/src/workload/scenario.ts'

const EXPECTED = {
  hosts: ['one RegExp', 're2-wasm', 'picomatch', 'minimatch', 'casbin', 'cedar-wasm'],
  addresses: ['net.BlockList', 'ipaddr.js', 'casbin', 'cedar-wasm'],
  paths: [
    'one RegExp',
    're2-wasm',
    'picomatch',
    'minimatch',
    'sandbox-runtime',
    'casbin',
    'cedar-wasm',
  ],
} as const

/** Packages that only `npm run bench` installs. Without them their peers are left out. */
const EXTRA = new Map([
  ['re2-wasm', requirePeer('re2-wasm')],
  ['sandbox-runtime', requirePeer('@anthropic-ai/sandbox-runtime/package.json')],
  ['cedar-wasm', requirePeer('@cedar-policy/cedar-wasm/nodejs')],
])

describe('createPeers', () => {
  it.each(DOMAIN_NAMES)('creates peers for %s that agree with us', async (name) => {
    const random = createRandom(7)
    const domain = DOMAINS[name]
    const { resources, ...scenario } = createScenario(domain, 300, random)
    const requests = drawRequests({ resources, ...scenario }, 'mixed', 300, random)
    const policy = compilePolicy({ policies: policiesOf(domain.action, resources) })
    const { answer } = createDecide(policy, domain.requestFor)

    const peers = await createPeers(name, resources, answer, requests)

    const installed = EXPECTED[name].filter((peer) => EXTRA.get(peer) !== null)
    expect(peers.contenders.map((peer) => peer.name)).toEqual(installed)
    const missing = EXPECTED[name].filter((peer) => EXTRA.get(peer) === null)
    for (const contender of missing)
      expect(peers.left_out).toContain(
        `${contender}: is not installed; \`npm run bench\` installs it`,
      )
  })

  it('leaves out a peer that answers differently and names a request', async () => {
    const resources = [{ pattern: '/data/*', decision: 'allow' }] as const
    const contrary = (): number => 0

    const peers = await createPeers('paths', resources, contrary, ['/data/a', '/data/a/b'])

    expect(peers.contenders).toEqual([])
    expect(peers.left_out).toContain(
      'picomatch: answers differently on 1 of 2 requests, such as `/data/a`',
    )
  })
})

describe('checkPeer', () => {
  it('returns null when all answers agree', () => {
    const answer = (text: string): number => text.length % 2

    expect(checkPeer(answer, answer, ['a', 'bb'])).toBeNull()
  })
})
