import { compilePolicy } from '@palisade/policy-core'
import { describe, expect, it } from 'vitest'
import { DOMAIN_NAMES } from '../../../bench/src/case.ts'
import { checkPeer } from '../../../bench/src/contenders/check-peer.ts'
import { createDecide } from '../../../bench/src/contenders/ours.ts'
import { createPeers } from '../../../bench/src/contenders/peers.ts'
import { DOMAINS } from '../../../bench/src/workload/domains.ts'
import { createRandom } from '../../../bench/src/workload/random.ts'
import { createScenario, drawRequests, policiesOf } from '../../../bench/src/workload/scenario.ts'

const EXPECTED = {
  hosts: ['one RegExp', 'picomatch', 'minimatch', 'casbin'],
  addresses: ['net.BlockList', 'ipaddr.js', 'casbin'],
  paths: ['one RegExp', 'picomatch', 'minimatch', 'casbin'],
} as const

describe('createPeers', () => {
  it.each(DOMAIN_NAMES)('gives peers for %s that answer as we do', async (name) => {
    const random = createRandom(7)
    const domain = DOMAINS[name]
    const { resources, ...scenario } = createScenario(domain, 300, random)
    const requests = drawRequests({ resources, ...scenario }, 'mixed', 300, random)
    const policy = compilePolicy({ policies: policiesOf(domain.action, resources) })
    const { answer } = createDecide(policy, domain.requestFor)

    const peers = await createPeers(name, resources, answer, requests)

    expect(peers.contenders.map((peer) => peer.name)).toEqual(EXPECTED[name])
  })

  it('leaves out a peer that answers otherwise, and says on what', async () => {
    const resources = [{ pattern: '/data/*', decision: 'allow' }] as const
    const contrary = (): number => 0

    const peers = await createPeers('paths', resources, contrary, ['/data/a', '/data/a/b'])

    expect(peers.contenders).toEqual([])
    expect(peers.left_out).toContainEqual({
      contender: 'picomatch',
      why: 'answers differently on 1 of 2 requests, such as `/data/a`',
    })
  })
})

describe('checkPeer', () => {
  it('finds nothing to say about equal answers', () => {
    const answer = (text: string): number => text.length % 2

    expect(checkPeer(answer, answer, ['a', 'bb'])).toBeNull()
  })
})
