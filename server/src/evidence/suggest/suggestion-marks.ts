import { distance } from 'fastest-levenshtein'
import { canonicalHost, type Policy } from '@palisade/policy-core'
import type { SuggestionMark } from '@palisade/protocol'
import type { Proposal } from './propose-resources.ts'
import { isConfusable, ownerOfName } from './registrable-domain.ts'
import { countDevices, usersOf } from './summarize-evidence.ts'
import type { Candidate } from './write-resource.ts'

/** Remote shells, mail, file sharing and the like, which carry data out in bulk. */
const SENSITIVE_PORTS: ReadonlySet<number> = new Set([
  20, 21, 22, 23, 25, 53, 69, 110, 139, 143, 445, 465, 587, 873, 993, 995, 2049, 3389, 5900, 6667,
])
/** Domains that are compared with each new one. */
const MOST_KNOWN = 2_000
/** A shorter domain differs from others in a letter by chance. */
const LEAST_LENGTH = 7
const MANY_DEVICES = 3

export interface Marks {
  readonly marks: readonly SuggestionMark[]
  readonly similarTo: string | null
}

/** A domain in use, and on how many devices. */
interface KnownDomain {
  readonly domain: string
  /** Infinity for one in an allow rule. */
  readonly devices: number
}

/** Marks what an editor should look at twice. */
export function createMarks(
  policies: readonly Policy[],
  candidates: readonly Candidate[],
): (proposal: Proposal) => Marks {
  const known = listKnown(policies, candidates)
  return (proposal) => {
    const { host, port } = proposal.candidates[0].target
    const literal = host !== null && canonicalHost(host)?.kind === 'address'
    const name = literal ? null : host
    const similarTo = name === null ? null : findSimilar(name, countDevices(proposal.seen), known)
    const suffix = name === null ? 'listed' : ownerOfName(name).suffix
    const holds: Readonly<Record<SuggestionMark, boolean>> = {
      one_device: countDevices(proposal.seen) === 1,
      one_user: usersOf(proposal.seen).size === 1,
      ip_literal: literal,
      confusable_name: name !== null && isConfusable(name),
      similar_name: similarTo !== null,
      unknown_domain: suffix === 'unknown',
      shared_hosting: suffix === 'hosting',
      wildcard: proposal.isWildcard,
      sensitive_port: port !== null && SENSITIVE_PORTS.has(port),
    }
    const marks = (Object.keys(holds) as SuggestionMark[]).filter((mark) => holds[mark])
    return { marks, similarTo }
  }
}

function listKnown(
  policies: readonly Policy[],
  candidates: readonly Candidate[],
): readonly KnownDomain[] {
  const devices = new Map<string, number>()
  for (const { target, seen } of candidates) {
    const domain = target.host === null ? null : ownerOfName(target.host).domain
    if (domain === null) continue
    devices.set(domain, Math.max(devices.get(domain) ?? 0, countDevices(seen)))
  }
  for (const domain of policies.flatMap(allowedDomains)) devices.set(domain, Infinity)
  return [...devices]
    .map(([domain, count]) => ({ domain, devices: count }))
    .filter((each) => each.devices >= MANY_DEVICES)
    .toSorted((a, b) => b.devices - a.devices)
    .slice(0, MOST_KNOWN)
}

function allowedDomains({ allowlist_v0 }: Policy): readonly string[] {
  const allows = (allowlist_v0?.rules ?? []).filter(({ decision }) => decision === 'allow')
  return allows
    .flatMap(({ resources }) => resources)
    .flatMap((resource) => {
      const host = canonicalHost(resource.replace(/^\*+\./, '').replace(/:\d+$/, ''))
      const domain = host?.kind === 'name' ? ownerOfName(host.name).domain : null
      return domain === null ? [] : [domain]
    })
}

/** A domain that more devices use and that reads nearly the same. */
function findSimilar(name: string, devices: number, known: readonly KnownDomain[]): string | null {
  const domain = ownerOfName(name).domain ?? name
  if (known.some((each) => each.domain === domain && each.devices === Infinity)) return null
  const folded = fold(domain)
  for (const { domain: other, devices: others } of known) {
    if (other === domain || others < devices * MANY_DEVICES) continue
    if (fold(other) === folded) return other
    const length = Math.min(domain.length, other.length)
    if (length < LEAST_LENGTH || Math.abs(domain.length - other.length) > 2) continue
    if (distance(domain, other) <= (length > 11 ? 2 : 1)) return other
  }
  return null
}

/** Letters that look alike, and the signs between words. */
function fold(domain: string): string {
  return domain
    .replaceAll(/[.-]/g, '')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w')
    .replaceAll('0', 'o')
    .replaceAll(/[1i]/g, 'l')
}
