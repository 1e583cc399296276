import type { MachineDecision } from '../../../policy/decision/active-policy.ts'
import { parseTargetHost } from '../../../proxy/target/authority.ts'
import type { ResolveServices, Service } from '../../../proxy/target/resolver.ts'
import { RCODE, type QueryHead } from './query.ts'
import { formatReply, TYPE } from './reply.ts'

/** A service of a host, as the name of an SRV record spells it (RFC 2782). */
export interface AskedService {
  /** The whole name. */
  readonly name: string
  readonly host: string
  readonly protocol: 'tcp' | 'udp'
}

/** Names of services are registered ones (RFC 6335 §5.1), so that they carry little else out. */
const SERVICE = /^_[a-z0-9-]{1,15}\._(tcp|udp)\.(.+)$/

/** Null for any other name. `name` is canonical. */
export function parseService(name: string): AskedService | null {
  const [, protocol, host = ''] = SERVICE.exec(name) ?? []
  return protocol === 'tcp' || protocol === 'udp' ? { name, host, protocol } : null
}

/** Lookups at once in one sandbox. */
const MAX_LOOKUPS = 32
const MAX_TARGETS = 16
/** The name has no such record. Other failures may pass. */
const FINAL = new Set(['ENODATA', 'ENOTFOUND'])

export type AnswerService = (
  head: QueryHead,
  service: AskedService,
  findDenial: (action: string, service: Service) => MachineDecision | null,
  onDenial: (denial: MachineDecision) => void,
) => Promise<Buffer>

/**
 * Answers for a service of an allowed host. The record is asked of the resolver; only targets that
 * the policy allows are in the answer. Never rejects.
 */
export function createAnswerService(resolveServices: ResolveServices): AnswerService {
  let lookups = 0
  return async (head, { name, protocol }, findDenial, onDenial) => {
    if (lookups >= MAX_LOOKUPS) return formatReply(head, RCODE.serverFailure)
    lookups += 1
    try {
      const found = await resolveServices(name)
      const targets = found.flatMap((service) => {
        const host = parseTargetHost(service.name)
        return host?.kind === 'name' ? [{ ...service, name: host.name }] : []
      })
      const allowed = targets.slice(0, MAX_TARGETS).filter((service) => {
        const denial = findDenial(`connect:${protocol}`, service)
        if (denial !== null) onDenial(denial)
        return denial === null
      })
      const records = allowed.map((service) => ({ type: TYPE.srv, data: formatService(service) }))
      return formatReply(head, RCODE.noError, records)
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : ''
      return formatReply(head, FINAL.has(code) ? RCODE.noError : RCODE.serverFailure)
    } finally {
      lookups -= 1
    }
  }
}

function formatService({ priority, weight, port, name }: Service): readonly number[] {
  const numbers = [priority, weight, port].flatMap((value) => [value >> 8, value & 0xff])
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)])
  return [...numbers, ...labels, 0]
}
