import { checkPeer } from './check-peer.ts'
import type { DomainName, LeftOut } from '../case.ts'
import type { Answer } from '../measure/isolated-loop.ts'
import type { Resource } from '../workload/domain.ts'
import { blockList, ipaddrScan } from './address-peers.ts'
import { casbin } from './casbin.ts'
import { combinedRegexp } from './combined-regexp.ts'
import type { Contender, Peer } from './contender.ts'
import { minimatchScan, picomatchScan } from './globs.ts'

export const PEERS: readonly Peer[] = [
  combinedRegexp,
  picomatchScan,
  minimatchScan,
  blockList,
  ipaddrScan,
  casbin,
]

export interface CheckedPeers {
  readonly contenders: readonly Contender[]
  readonly left_out: readonly LeftOut[]
}

/** The peers that can express the scenario and give our answer to every request of `sample`. */
export async function createPeers(
  domain: DomainName,
  resources: readonly Resource[],
  ours: Answer,
  sample: readonly string[],
): Promise<CheckedPeers> {
  const contenders: Contender[] = []
  const left_out: LeftOut[] = []
  for (const peer of PEERS) {
    const cannot = whyNot(peer, domain, resources.length)
    const answer = cannot === null ? await peer.create(domain, resources) : null
    const why = answer === null ? cannot : checkPeer(ours, answer, sample)
    if (why === null && answer !== null) contenders.push({ name: peer.name, answer })
    else left_out.push({ contender: peer.name, why: why ?? 'gives no answer' })
  }
  return { contenders, left_out }
}

function whyNot(peer: Peer, domain: DomainName, size: number): string | null {
  const cannot = peer.cannot[domain]
  if (cannot !== undefined) return cannot
  return size > peer.maxSize ? `takes too long above ${peer.maxSize} resources` : null
}
