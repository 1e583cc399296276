import type { Answer } from '../measure/isolated-loop.ts'
import type { DomainName, Resource } from '../../workload/domain.ts'
import { blockList, ipaddrScan } from './address-peers.ts'
import { casbin } from './casbin.ts'
import { cedar } from './cedar.ts'
import { combinedRegexp } from './combined-regexp.ts'
import type { Contender, Peer } from './contender.ts'
import { minimatchScan, picomatchScan } from './globs.ts'
import { re2 } from './re2.ts'
import { sandboxRuntime } from './sandbox-runtime.ts'

const PEERS: readonly Peer[] = [
  combinedRegexp,
  re2,
  picomatchScan,
  minimatchScan,
  sandboxRuntime,
  blockList,
  ipaddrScan,
  casbin,
  cedar,
]

const NOT_INSTALLED = 'is not installed; `npm run bench` installs it'

export interface CheckedPeers {
  readonly contenders: readonly Contender[]
  readonly left_out: readonly string[]
}

/** Creates the peers that support the scenario and agree with us on every request of `sample`. */
export async function createPeers(
  domain: DomainName,
  resources: readonly Resource[],
  ours: Answer,
  sample: readonly string[],
): Promise<CheckedPeers> {
  const contenders: Contender[] = []
  const left_out: string[] = []
  for (const peer of PEERS) {
    const cannot = whyNot(peer, domain, resources.length)
    const answer = cannot === null ? await peer.create(domain, resources) : null
    const why = answer === null ? cannot : checkPeer(ours, answer, sample)
    if (why === null && answer !== null) contenders.push({ name: peer.name, answer })
    else left_out.push(`${peer.name}: ${why ?? NOT_INSTALLED}`)
  }
  return { contenders, left_out }
}

function whyNot(peer: Peer, domain: DomainName, size: number): string | null {
  const cannot = peer.cannot[domain]
  if (cannot !== undefined) return cannot
  const why = peer.whyNotMore ?? 'takes too long'
  return size > peer.maxSize ? `${why} above ${peer.maxSize} resources` : null
}

/**
 * Compares answers before timing, because the speed of wrong answers means little. Returns the
 * reason to leave the peer out, or null when all answers agree.
 */
export function checkPeer(ours: Answer, peer: Answer, requests: readonly string[]): string | null {
  const wrong = requests.filter((text) => ours(text) !== peer(text))
  const [first] = wrong
  if (first === undefined) return null
  const share = `${wrong.length} of ${requests.length} requests`
  return `answers differently on ${share}, such as \`${first}\``
}
